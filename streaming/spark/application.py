"""Whether Spark still runs the application. What no pause and no new query mends ends the job with a sentence.

Java process gone             killed from outside, or out of memory
application removed           by its master, after executors failed again and again; by somebody with a right to it
no executor for a minute      every worker is taken or refuses, or none is there
"""

from typing import TYPE_CHECKING

from .failures import CannotRun, first_line
from .session import is_local, jvm_ended

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXECUTORS_WITHIN_S = 45.0


def did_not_start(master: str, why: BaseException) -> CannotRun:
    """A session that did not come up."""
    return CannotRun(f"Spark at {master} did not start a session ({first_line(why)}); {_look(master)}")


class Application:
    """One application at a master. Times are those of a clock that only goes forward, in seconds."""

    def __init__(self, spark: "SparkSession", master: str, now_s: float) -> None:
        self._context, self._master = spark.sparkContext, master
        self._executor_s = now_s

    def look(self, now_s: float) -> None:
        """Raises CannotRun where Spark does not run it any more."""
        if jvm_ended():
            raise CannotRun(
                "Spark's Java process has ended, killed from outside or out of memory; give the machine more, "
                "or change spark.driver_memory, and start again: nothing is lost"
            )
        spark = self._context._jsc.sc()
        if spark.isStopped():
            raise CannotRun(
                f"Spark's master at {self._master} has removed the application; {_look(self._master)}, and start again:"
                " nothing is lost"
            )
        if is_local(self._master) or len(spark.statusTracker().getExecutorInfos()) > 1:  # one is the driver
            self._executor_s = now_s
        elif now_s - self._executor_s > EXECUTORS_WITHIN_S:
            raise CannotRun(
                f"no worker of Spark's master at {self._master} has run an executor of this job for"
                f" {EXECUTORS_WITHIN_S:.0f} s; {_look(self._master)}"
            )


def _look(master: str) -> str:
    if is_local(master):
        return "see what Java says above"
    return "see the logs of its workers, and whether they have a core and the memory that spark.driver_memory asks for"
