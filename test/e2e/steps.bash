# Steps of a deletion that are pods, as the kubelet runs them.
# shellcheck shell=bash disable=SC2154

# note_says TEXT: whether an Event of the cluster's deletion has it.
note_says() {
  kubectl -n "$namespace" get events.events.k8s.io -o json |
    jq -e --arg text "$1" 'any(.items[]; .reason == "ClusterDeleting" and (.note | contains($text)))' >/dev/null
}
# exit_code STEP: of the pod of before-delete or after-delete, as it was recorded.
exit_code() {
  jq -r --arg step "$1" '.object | select(.metadata.labels["cluster-watcher/step"] == $step)
    | .status.containerStatuses[0].state.terminated.exitCode // empty' "$work/pods" | tail -n 1
}
ended_with() { [[ $(exit_code "$1") == "$2" ]]; }

# The program itself is what the pods run: its wrong usage is a step that fails and says why.
steps_run_as_pods() {
  local pod
  kubectl create namespace "$namespace" >/dev/null
  kubectl label namespace "$namespace" cluster-watcher/enabled=true >/dev/null
  kubectl -n "$namespace" create serviceaccount master >/dev/null
  kubectl -n "$namespace" create serviceaccount cluster-watcher-steps >/dev/null
  kubectl -n "$namespace" create rolebinding cluster-watcher --clusterrole=cluster-watcher \
    --serviceaccount="$namespace:master" >/dev/null
  kubectl -n "$namespace" create rolebinding steps --clusterrole=cluster-watcher-runs-steps \
    --serviceaccount="$namespace:master" >/dev/null
  steps() { jq -nc --arg image "$image" '$ARGS.positional as $command
    | [{name: "say", image: $image, command: $command}]' --args cluster-watcher "$@"; }
  record
  cluster | kubectl -n "$namespace" create --dry-run=client -o json -f - |
    jq --arg before "$(steps sing)" --arg after "$(steps version)" '
      if .metadata.name == "bob-cluster-m" then
        .metadata.annotations = {"cluster-watcher/before-delete": $before, "cluster-watcher/after-delete": $after}
        | .spec.template.spec.serviceAccountName = "master" else . end' |
    kubectl -n "$namespace" apply -f - >/dev/null
  check "the master has a pod" within pod_of oshinko-cluster=bob-cluster,oshinko-type=master
  check "it runs" within running "$pod"
  kubectl -n "$namespace" delete deployment bob --wait=false >/dev/null
  check "a step that fails ran as a pod" within ended_with before-delete 2
  check "an Event has the end of its log" within note_says 'unknown command'
  check "one after the members too" within ended_with after-delete 0
  check "and the cluster goes, with these pods" within none_left
  end_recorders
  kubectl delete namespace "$namespace" --wait=false >/dev/null
}
