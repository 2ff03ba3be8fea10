"""Why a job does not run."""

from contextlib import suppress
from pathlib import Path
from typing import Any

MOST_CAUSES = 20
_NOTHING = ("(no cause message)", "null")


class CannotRun(Exception):
    """The job can't start or go on; one sentence with what, where and what to do."""


class ClusterRefused(CannotRun):
    """One cluster can't be watched; other clusters of the job can."""


class TakenOver(ClusterRefused):
    """Another job is the writer of this cluster now."""

    def __init__(self, cluster: str) -> None:
        super().__init__(
            f"another job has taken over cluster {cluster}, because this one did not renew its lease in time (it stood "
            "still, or the database did not answer it), or the database was restored from a backup; started again, it "
            "stands by until the other one ends"
        )


class BundleFailed(Exception):
    """A task failed in a way that nobody foresaw; the text says how."""


class BatchFailed(Exception):
    """Tells Spark that the batch function failed; why is kept on this side."""


def no_room(where: str | Path, why: OSError) -> CannotRun:
    """The folder for what need not be kept can't be written."""
    return CannotRun(f"can't write to {where} ({why.strerror}); set spark.checkpoint_dir to a folder with room")


def first_line(problem: BaseException) -> str:
    """What an error says, in one line; of an error of Java what its innermost cause says."""
    if (cause := _java_cause(problem)) is not None:
        return cause
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return lines[1].removeprefix(": ")
    return lines[0] if lines else type(problem).__name__


def _java_cause(problem: BaseException) -> str | None:
    """The message of the innermost cause that has one, else that cause's class; None where Java has no part in it."""
    said: str | None = None
    kinds: list[str] = []
    with suppress(Exception):  # a Java process that is gone answers no question
        origin = _origin(problem)
        for _ in range(MOST_CAUSES):
            if origin is None:
                break
            kinds.append(str(origin.getClass().getSimpleName()))
            text = str(origin.getMessage() or "")
            line = next((one.strip() for one in text.splitlines() if one.strip()), "")
            if line and not line.endswith(_NOTHING):
                said = line
            origin = origin.getCause()
    if said is None and kinds:
        return f"Spark's query failed ({kinds[-1]})"
    if said is None and any(line.rstrip().endswith(_NOTHING) for line in str(problem).splitlines()):
        return "Spark's query failed and gave no reason"
    return said


def _origin(problem: BaseException) -> Any:
    """The error in Java. PySpark keeps it at the error itself, or at what that was caused by."""
    error: Any = problem
    for _ in range(MOST_CAUSES):
        found = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
        if found is not None or error is None:
            return found
        error = getattr(error, "_cause", None)
    return None
