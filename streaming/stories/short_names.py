"""Ids shortened to what tells them apart within one group. Pure.

payments-1-0b9f54a2-…, payments-2-6ac1d6f0-…                        1, 2
connect-a.pods.example.org:8083, connect-b.pods.example.org:8083    a, b
"""

import re
from collections.abc import Iterable, Mapping, Sequence

_UUID_TAIL = re.compile(r"[-_.]([0-9a-f]{6})[0-9a-f]{2}-([0-9a-f]{4}-){3}[0-9a-f]{12}$", re.IGNORECASE)
_RANDOM = re.compile(r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z])([\w-]{6})[\w-]{16}")
"""A member id of KIP-848: a UUID in base64."""
_SEPARATORS = "-_.:/ "
_SHORT = 8
"""Where no id is longer than this, all are told whole."""


def short_names(ids: Iterable[str]) -> Mapping[str, str]:
    """Each id with its short name; no two have the same one. A step that would make two alike is left out."""
    whole = sorted(set(ids))
    names = whole
    for step in (_without_tails, _with_short_tails, _with_short_uuids, _without_common_ends):
        shorter = step(names)
        if len(set(shorter)) == len(whole) and all(shorter):
            names = shorter
    return dict(zip(whole, names, strict=True))


def short_tail(member_id: str) -> str:
    """The id with the beginning of its UUID: enough to find it in a log."""
    return _with_short_uuids(_with_short_tails([member_id]))[0]


def _without_tails(names: Sequence[str]) -> list[str]:
    """A coordinator appends a UUID to the client id."""
    return [_UUID_TAIL.sub("", name) for name in names]


def _with_short_tails(names: Sequence[str]) -> list[str]:
    return [_UUID_TAIL.sub(r"-\1", name) for name in names]


def _with_short_uuids(names: Sequence[str]) -> list[str]:
    return [f"{found[1]}…" if (found := _RANDOM.fullmatch(name)) else name for name in names]


def _without_common_ends(names: Sequence[str]) -> list[str]:
    """Whole words alone go: up to a separator in front, from one on behind."""
    if len(names) < 2 or all(len(name) <= _SHORT for name in names):
        return [*names]
    front = _shared_front(names)
    start = max(map(front.rfind, _SEPARATORS)) + 1
    rests = [name[start:] for name in names]
    back = _shared_front([rest[::-1] for rest in rests])[::-1]
    cut = min((at for one in _SEPARATORS if (at := back.find(one)) >= 0), default=len(back))
    return [rest.removesuffix(back[cut:]) for rest in rests]


def _shared_front(names: Sequence[str]) -> str:
    """What the first and the last of them in order begin with, all begin with."""
    first, last = min(names), max(names)
    differs = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[:differs]
