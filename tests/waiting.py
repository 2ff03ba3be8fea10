"""Waiting for what only another process can make true."""

import time
from collections.abc import Callable
from typing import Any

import httpx

LOOK_EVERY_S = 0.05
PATIENCE_S = 240.0
"""For what ends with an event: a machine that does much else may need minutes for what takes a second otherwise."""


def until(true: Callable[[], Any], timeout_s: float = PATIENCE_S) -> Any:
    """What `true` returns, as soon as it is something; an AssertionError when the time is over."""
    end_s = time.monotonic() + timeout_s
    while time.monotonic() < end_s:
        try:
            if found := true():
                return found
        except httpx.TransportError:
            pass
        time.sleep(LOOK_EVERY_S)
    raise AssertionError("it never became true")
