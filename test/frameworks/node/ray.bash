# Ray: KubeRay makes head and worker of the RayCluster of examples/ray.
# shellcheck shell=bash disable=SC2034,SC2154
# shellcheck source=drivers.bash
. "$frameworks/node/drivers.bash"

get_ray() {
  ray=$("$frameworks/python_build" ray)
  kuberay=$("$frameworks/build" ray)
}
try_ray() {
  local shown label=ray.io/cluster kinds=services
  definitions "$kuberay"/*.yaml
  namespace ray ray_driver.py '{"ray.io/cluster": "c", "ray.io/node-type": "head"}'
  # Its probes are scripts for the tools of Ray's own image.
  ENABLE_PROBES_INJECTION=false "$kuberay/operator" --watch-namespace=ray --enable-leader-election=false \
    --metrics-addr=0 --health-probe-bind-address=0 >"$tmp/ray-operator.log" 2>&1 8>&- &
  watchers+=("$!")
  # All work is the worker's. Ray gives a server for clients the agent's port only where that is set.
  shown=$(shown "$ray" '{"RAY_USAGE_STATS_ENABLED": "0", "RAY_SCHEDULER_EVENTS": "0"}')
  kubectl create --dry-run=client -o json -f "$source_dir/manifests/examples/ray/cluster.yaml" |
    jq --argjson shown "$shown" '
      def computes: .rayStartParams = {"num-cpus": "2", "object-store-memory": "100000000", "node-ip-address": "$POD_IP"}
        | .template.spec |= (. + $shown.pod | .containers[] |= . + $shown.container);
      .metadata = {name: "$(CLUSTER)"} | .spec.headGroupSpec |= computes | .spec.workerGroupSpecs[] |= computes
      | .spec.headGroupSpec.rayStartParams += {"num-cpus": "0", "include-dashboard": "false", "runtime-env-agent-port": "6390"}
      | .spec.headGroupSpec.template.spec.serviceAccountName = "cluster-watcher"' >"$tmp/cluster.json"
  add_script "$tmp/cluster.json"
  drivers_come_and_go "$shown" ray_driver.py ray.io/node-type=head
  check "and its resource" within absent ray raycluster/pi
}
