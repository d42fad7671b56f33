"""Computes on the RayCluster that it is given, and goes on until it is killed."""
import os
import time

import ray


@ray.remote
def squares(numbers):
    return sum(number * number for number in numbers)


@ray.remote
def slowly(number):
    time.sleep(0.1)
    return number * number


ray.init(f"ray://{os.environ['OSHINKO_CLUSTER_NAME']}-head-svc:10001", log_to_driver=False)
print("sum", sum(ray.get([squares.remote(range(first, first + 100)) for first in range(0, 1000, 100)])))
finished = 0
while True:
    found = ray.get([slowly.remote(number) for number in range(8)])
    finished += 1
    print("round", finished, sum(found))
