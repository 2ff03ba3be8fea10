"""Why a job does not run."""

from pathlib import Path


class CannotRun(Exception):
    """The job can't start or go on; one sentence with what, where and what to do."""


class BatchFailed(Exception):
    """Tells Spark that the batch function failed; why is kept on this side."""


def no_room(where: str | Path, why: OSError) -> CannotRun:
    """The folder for what need not be kept can't be written."""
    return CannotRun(f"can't write to {where} ({why.strerror}); set spark.checkpoint_dir to a folder with room")


def first_line(problem: BaseException) -> str:
    """What an error says; the bridge to Java puts a line of its own in front."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return lines[1].removeprefix(": ")
    return lines[0] if lines else type(problem).__name__
