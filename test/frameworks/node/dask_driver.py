"""Makes a DaskCluster as a notebook does, computes on it, and goes on until /tmp/end is there."""
import json
import os
import time

from dask_kubernetes.operator import KubeCluster, make_cluster_spec
from distributed import Client

shown = json.loads(os.environ["SHOWN"])
spec = make_cluster_spec(name=os.environ["CLUSTER"], n_workers=2)
for part in spec["spec"]["scheduler"], spec["spec"]["worker"]:
    part["spec"].update(shown["pod"])
    for container in part["spec"]["containers"]:
        # The programs that it names have become commands of `dask`.
        program, *rest = container.pop("args")
        container["command"] = [*program.split("-"), *rest]
        container.update(shown["container"])
spec["spec"]["scheduler"]["spec"]["serviceAccountName"] = "cluster-watcher"


def square(number):
    return number * number


def slowly(number):
    time.sleep(0.2)
    return number * number


cluster = KubeCluster(custom_cluster_spec=spec, namespace=os.environ["POD_NAMESPACE"],
                      resource_timeout=170, quiet=True)
with Client(cluster) as client:
    client.wait_for_workers(2)
    print("sum", client.submit(sum, client.map(square, range(1000))).result())
    finished = 0
    while not os.path.exists("/tmp/end"):
        found = client.gather(client.map(slowly, range(8), pure=False))
        finished += 1
        print("round", finished, sum(found), "by", len(client.scheduler_info()["workers"]))
cluster.close()
