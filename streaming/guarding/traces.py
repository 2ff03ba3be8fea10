"""An error as it is stored and logged: its type and its place in the code, and no value of anybody's records."""

import hashlib
import traceback
from pathlib import Path
from types import TracebackType

from rebalance_monitor.streaming.core.model.results import Source
from rebalance_monitor.streaming.core.ports import FoldError

ROOT = Path(__file__).parents[2]
KEPT_FRAMES = 30
OWN = ("streaming", "schemas", "assignors")


def error_of(problem: BaseException, record: Source | None) -> FoldError:
    """`problem` with a fingerprint that is the same for every error of this type at this place."""
    return FoldError(fingerprint_of(problem), record, trace_of(problem))


def fingerprint_of(problem: BaseException) -> str:
    """The error's type and eight digits for the last place of ours that it passed, e.g. `KeyError-1a2b3c4d`."""
    places = _places(problem.__traceback__)
    own = [place for place in places if place.partition("/")[0] in OWN] or places[-1:]
    where = own[-1] if own else ""
    return f"{type(problem).__name__}-{hashlib.sha256(where.encode()).hexdigest()[:8]}"


def trace_of(problem: BaseException) -> str:
    """The frames, the innermost last, and the error's type. Not its text: that may quote a record."""
    places = _places(problem.__traceback__)
    left_out = [f"... {len(places) - KEPT_FRAMES} more"] if len(places) > KEPT_FRAMES else []
    return "\n".join([*left_out, *places[-KEPT_FRAMES:], type(problem).__name__])


def _places(trace: TracebackType | None) -> list[str]:
    return [f"{_file(frame.filename)}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]


def _file(name: str) -> str:
    path = Path(name)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
