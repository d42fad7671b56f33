"""Computes on the Spark cluster that it is given, and goes on until it is killed."""
import os
import time

from pyspark import SparkConf, SparkContext

configuration = SparkConf().setAppName(os.environ["POD_NAME"]).setMaster(os.environ["OSHINKO_SPARK_MASTER"])
configuration.setAll({
    "spark.driver.host": os.environ["POD_IP"],
    "spark.cores.max": "1",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
}.items())


def slowly(number):
    time.sleep(0.1)
    return number * number


context = SparkContext(conf=configuration)
print("sum", context.parallelize(range(1000), 2).map(lambda number: number * number).sum())
finished = 0
while True:
    found = context.parallelize(range(8), 2).map(slowly).sum()
    finished += 1
    print("round", finished, found)
