"""Moments and spans of time as people type them. InputError names the option."""

import time
from datetime import datetime

from rebalance_monitor.streaming.config.sections import seconds
from .exit_codes import InputError

MOST_SETTING_MS = 2**31 - 1


def clock_ms() -> int:
    return time.time_ns() // 1_000_000


def duration_ms(text: str, option: str) -> int:
    """30s, 90m, 2h, 1d12h: whole numbers with s, m, h or d."""
    try:
        return seconds(text) * 1_000
    except ValueError:
        raise InputError(f"{option} {text!r} is no time; write 90m, 2h or 1d12h") from None


def setting_ms(text: str, option: str) -> int:
    """A time that a setting of Kafka gets: its classes keep milliseconds in 32 bits."""
    ms = duration_ms(text, option)
    if ms > MOST_SETTING_MS:
        raise InputError(f"{option} {text} is longer than Kafka takes ({MOST_SETTING_MS:,} ms, 24 days); write less")
    return ms


def moment_ms(text: str, option: str) -> int:
    """An RFC 3339 moment with its offset to UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InputError(f"{option} {text!r} is no moment; write 2026-01-10T20:00:00Z")
    return int(moment.timestamp() * 1000)
