"""How much the tests look at. `make test` looks at a little of everything; `make sweep`, with `RM_LONG=1`, at all."""

import os
from typing import TypeVar

T = TypeVar("T")
LONG = os.environ.get("RM_LONG", "0") not in ("", "0")


def size(short: T, long: T) -> T:
    """What this run looks at."""
    return long if LONG else short
