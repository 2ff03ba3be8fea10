"""Whether every partition of a topic answers, and whether its newest record is of this time."""

from collections.abc import Iterable, Mapping

from rebalance_monitor.streaming.core.model.messages import counted

AHEAD_MS = 5_000
"""Clocks that are synchronized differ by less."""
_NAMED = 5


def not_covered(leaders: Mapping[int, int | None], ends: Mapping[int, int | None]) -> str | None:
    """Which partitions cannot be read now, and why; groups that are kept in them are not judged."""
    numbers = sorted(leaders)
    if numbers != list(range(len(numbers))):
        absent = set(range(numbers[-1])) - leaders.keys()
        return f"brokers do not tell of {_named(absent)}; ask again once the topic is made, and see that brokers run"
    leaderless = [one for one in numbers if leaders[one] is None]
    if leaderless:
        return f"{_named(leaderless)} no broker leads, so they are not read; start the brokers that hold them"
    silent = [one for one in numbers if ends.get(one) is None]
    if silent:
        return f"the leaders of {_named(silent)} do not answer; check advertised.listeners of the brokers and firewalls"
    return None


def clock_problem(newest_ms: Iterable[int | None], now_ms: int) -> str | None:
    """Why the newest records cannot be of this host's time. Records of the past may only be old, so a clock of brokers
    that is behind is not seen."""
    ahead_ms = max((one for one in newest_ms if one is not None), default=0) - now_ms
    if ahead_ms <= AHEAD_MS:
        return None
    return (
        f"the newest record is {ahead_ms // 1000} s ahead of this host's clock; synchronize the clocks of brokers, "
        "Connect workers and this host (NTP)"
    )


def _named(partitions: Iterable[int]) -> str:
    several = sorted(partitions)
    shown = ", ".join(map(str, several[:_NAMED])) + (", …" if len(several) > _NAMED else "")
    return f"{counted(len(several), 'partition')} ({shown})"
