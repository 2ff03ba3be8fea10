"""What an error of Spark says, in one line."""

import pytest

from rebalance_monitor.streaming.spark.failures import first_line


class Class:
    def __init__(self, name: str) -> None:
        self._name = name

    def getSimpleName(self) -> str:  # noqa: N802 - the name is Java's
        return self._name


class Java:
    """An error of Java, as the bridge shows it."""

    def __init__(self, name: str, message: str | None, cause: "Java | None" = None) -> None:
        self._name, self._message, self._cause = name, message, cause

    def getClass(self) -> Class:  # noqa: N802
        return Class(self._name)

    def getMessage(self) -> str | None:  # noqa: N802
        return self._message

    def getCause(self) -> "Java | None":  # noqa: N802
        return self._cause


class Captured(Exception):
    """As PySpark's: the error in Java at the error itself, or at its cause."""

    def __init__(self, said: str, origin: Java | None, cause: "Captured | None" = None) -> None:
        super().__init__(said)
        self._origin, self._cause = origin, cause


NO_CAUSE = "[STREAM_FAILED] Query [id = 1] terminated with exception:  SQLSTATE: XXKST (no cause message)"
FULL = Java("FSError", "java.io.IOException: No space", Java("IOException", "No space left on device\n\tat x"))


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (Captured(NO_CAUSE, None, Captured("", Java("EOFException", None))), "Spark's query failed (EOFException)"),
        (Captured(NO_CAUSE, None), "Spark's query failed and gave no reason"),
        (Captured("failed", Java("SparkException", NO_CAUSE, FULL)), "No space left on device"),
        (Captured("failed", Java("SparkException", "Job aborted", Java("EOFException", None))), "Job aborted"),
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
        (ValueError(), "ValueError"),
    ],
)
def test_an_error_is_what_its_innermost_cause_says(problem: Exception, said: str) -> None:
    assert first_line(problem) == said


def test_a_reason_that_is_none_is_said_whatever_stands_behind_it() -> None:
    """Spark's error repeats itself over several lines when its process was killed."""
    assert first_line(RuntimeError(f"{NO_CAUSE}\n=== Streaming Query ===")) == "Spark's query failed and gave no reason"
