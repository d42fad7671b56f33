# Spark standalone, the way Oshinko starts it: master and worker are the Deployments of examples/driver.
# shellcheck shell=bash disable=SC2034,SC2154
# shellcheck source=drivers.bash
. "$frameworks/node/drivers.bash"

get_spark() {
  spark=$("$frameworks/python_build" spark)
  java_home=/usr/lib/jvm/java-17-openjdk-$(dpkg --print-architecture)
  [[ -x $java_home/bin/java ]] || { echo "node_test.sh: $java_home is missing: run scripts/setup java" >&2; exit 1; }
}
try_spark() {
  local shown label=oshinko-cluster kinds=services
  namespace spark spark_driver.py '{"oshinko-cluster": "c", "oshinko-type": "master"}'
  # Programs that run for a minute start sooner so.
  shown=$(shown "$spark" "$(jq -nc --arg home "$java_home" '{JAVA_HOME: $home,
    JAVA_TOOL_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
    SPARK_DAEMON_MEMORY: "256m", SPARK_WORKER_CORES: "4", SPARK_WORKER_MEMORY: "4g"}')" /etc/java-17-openjdk)
  kubectl create --dry-run=client -o json -f "$source_dir/manifests/examples/driver/cluster.yaml" |
    jq -s --argjson shown "$shown" --arg spark_class "$(realpath "$spark"/lib/python3*/site-packages/pyspark)/bin/spark-class" '
      {apiVersion: "v1", kind: "List", items: map(del(.metadata.namespace) | if .kind == "Deployment" then
        .spec.replicas = 1
        | .spec.template.spec |= (. + $shown.pod | .containers[] |= (. + $shown.container | .command[0] = $spark_class))
        else . end)}' >"$tmp/cluster.json"
  add_script "$tmp/cluster.json"
  drivers_come_and_go "$shown" spark_driver.py oshinko-type=master
}
