# Makes the expected pod from the same pod, normalised, without injection. $port is the number from
# expected.txt, $settings the ConfigMap's data.
def setting($key; $default): $settings[$key] // $default;

def defaults:
  with_entries(select(.key | startswith("default."))
    | .key |= "cluster-watcher/" + ltrimstr("default."));

# What pods get that ask for it by annotation; null: nothing.
def asked: {
  "sidecar-asked": {requests: {cpu: "50m", memory: "48Mi"}, limits: {cpu: "2", memory: "512Mi"}},
  "sidecar-unlimited": {limits: null},
  "sidecar-half-asked": {requests: {cpu: "5m", memory: "100Mi"}, limits: {cpu: "5m", memory: "100Mi"}},
  "sidecar-contradictory": {limits: {memory: "99Mi"}},
  "sidecar-of-pod-resources": {limits: {cpu: "2", memory: "32Mi"}}};

def container:
  .spec as $spec
  | .metadata.name as $name
  | [$spec.resources, ($spec.containers + ($spec.initContainers // []))[].resources
      | (.requests, .limits) // {} | keys[]] as $named
  | {
    name: "cluster-watcher",
    image: $settings.image,
    imagePullPolicy: setting("imagePullPolicy"; "IfNotPresent"),
    restartPolicy: "Always",
    env: [
      {name: "POD_NAME", valueFrom: {fieldRef: {apiVersion: "v1", fieldPath: "metadata.name"}}},
      {name: "POD_NAMESPACE", valueFrom: {fieldRef: {apiVersion: "v1", fieldPath: "metadata.namespace"}}},
      {name: "CLUSTER_WATCHER_LISTEN", value: ":\($port)"}],
    resources: ({
      requests: ({cpu: setting("cpuRequest"; "10m"), memory: setting("memoryRequest"; "32Mi")}
        | if $spec.resources then with_entries(select(.key | IN($named[])) | .value = "0") else . end),
      limits: ({cpu: setting("cpuLimit"; "500m"), memory: setting("memoryLimit"; "64Mi")}
        | if $spec.resources then with_entries(select(.key | IN($named[]))) else . end
        | if $name == "pod-small" then .cpu = "100m" else . end)}
      * (asked[$name] // {}) | with_entries(select(.value))),
    securityContext: ({
      allowPrivilegeEscalation: false,
      capabilities: {drop: ["ALL"]},
      readOnlyRootFilesystem: true,
      runAsNonRoot: true}
      + if setting("seccompProfile"; "RuntimeDefault") == "none" then {} else
          {seccompProfile: {type: "RuntimeDefault"}} end
      + if $spec.securityContext.runAsUser == 0 then {runAsUser: 65532} else {} end),
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "FallbackToLogsOnError",
    volumeMounts: [{
      name: "cluster-watcher-token",
      mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
      readOnly: true}]}
  + if $spec.hostNetwork then {} else
      {ports: [{name: "watcher-metrics", containerPort: $port, protocol: "TCP"}],
       livenessProbe: {
         httpGet: {path: "/healthz", port: $port, scheme: "HTTP"},
         periodSeconds: 20, timeoutSeconds: 5, failureThreshold: 3, successThreshold: 1}} end
  ;

def volume: {
  name: "cluster-watcher-token",
  projected: {
    defaultMode: 420,
    sources: [
      {serviceAccountToken: ({
          expirationSeconds: (setting("tokenExpirationSeconds"; "3600") | tonumber), path: "token"}
        + if setting("tokenAudience"; "") == "" then {} else {audience: $settings.tokenAudience} end)},
      {configMap: {name: "kube-root-ca.crt", items: [{key: "ca.crt", path: "ca.crt"}]}},
      {downwardAPI: {items: [
        {path: "namespace", fieldRef: {apiVersion: "v1", fieldPath: "metadata.namespace"}}]}}]}};

(.metadata.annotations // {}) as $annotations
| .metadata.annotations = ($settings | defaults) + $annotations
  + (if setting("scrape"; "false") == "true" and ($annotations | has("prometheus.io/scrape") | not)
     then {"prometheus.io/scrape": "true", "prometheus.io/port": "\($port)",
           "prometheus.io/path": "/metrics"}
     else {} end)
  + {"cluster-watcher/status": ({initContainers: ["cluster-watcher"],
      volumes: ["cluster-watcher-token"], image: $settings.image, port: $port} | tojson)}
| .metadata.labels = (.metadata.labels // {}) + {"cluster-watcher/injected": "true"}
| ((setting("imagePullSecrets"; "") | split(",")) - [.spec.imagePullSecrets[]?.name] | map({name: .})) as $secrets
| if $secrets == [] then . else .spec.imagePullSecrets += $secrets end
| container as $container
| .spec.initContainers = [$container] + (.spec.initContainers // [])
| .spec.volumes = (if any(.spec.volumes[]?; .name == volume.name) then .spec.volumes else .spec.volumes + [volume] end
    | sort_by(.name))
