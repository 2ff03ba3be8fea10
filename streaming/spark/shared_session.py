"""The one session of Spark, which the threads of all clusters use."""

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from .application import Application
from .stopping import LOOK_EVERY_S, Stopping
from .warming import warm_up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SharedSession:
    """Whoever needs it waits for it."""

    def __init__(self) -> None:
        self.wanted, self._there = threading.Event(), threading.Event()
        self.spark: SparkSession | None = None
        self._warming, self._warm = threading.Lock(), False

    def is_there(self, spark: "SparkSession") -> None:
        self.spark = spark
        self._there.set()

    def wait(self, stop: Stopping) -> "SparkSession | None":
        """The session once it is there; None if the end comes first."""
        self.wanted.set()
        while not self._there.wait(LOOK_EVERY_S):
            if stop:
                return None
        return self.spark

    def warm_up(self, scratch: Path) -> None:
        """Once, by the cluster that asks first; others wait for it. Nothing while the session is not there."""
        with self._warming:
            if self.spark is not None and not self._warm:
                warm_up(self.spark, scratch)
                self._warm = True

    def look(self) -> None:
        """CannotRun where Spark does not run the application any more."""
        if self.spark is not None:
            now_s = time.monotonic()
            Application(self.spark, str(self.spark.sparkContext.master), now_s).look(now_s)
