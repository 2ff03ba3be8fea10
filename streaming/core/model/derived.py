"""What is computed from a frozen value again and again, remembered with the value.

A value that `replace` makes remembers nothing: it is another one. What is remembered is neither compared nor stored.

    @derived
    def in_hands(observed: Observed) -> frozenset[Job]: ...

    in_hands(observed)      computed
    in_hands(observed)      the same object again
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Generic, TypeVar


class Derives:
    """The base of a slotted dataclass whose values remember what is derived of them."""

    __slots__ = ("__dict__",)


A = TypeVar("A")
D = TypeVar("D", bound=Derives)
V = TypeVar("V")
K = TypeVar("K", bound=Hashable)
MOST_RECENT = 16


def key_of(of: Callable[..., object]) -> str:
    """Under which a value remembers what this function says of it."""
    return f"{of.__module__}.{of.__qualname__}"


def derived(of: Callable[[D], V]) -> Callable[[D], V]:
    """The pure function `of`, computed once for each value. Nobody may change what it returns."""
    key = key_of(of)

    @wraps(of)
    def remembered(value: D) -> V:
        known = value.__dict__
        if key in known:
            found: V = known[key]
        else:
            found = known[key] = of(value)
        return found

    return remembered


def recent(of: Callable[[A], V]) -> Callable[[A], V]:
    """The pure function `of`, not computed again for the very objects that it was asked of last. Nobody may change what
    it returns."""
    last: list[tuple[A, V]] = []

    @wraps(of)
    def remembered(value: A) -> V:
        for known, found in last:
            if known is value:
                return found
        made = of(value)
        last[:] = [(value, made), *last[: MOST_RECENT - 1]]
        return made

    return remembered


class Latest(Generic[K, V]):
    """What was computed last for each of a bounded number of keys; the one that was put first goes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """None if it is not there any more."""
        return self._kept.get(key)

    def put(self, key: K, value: V) -> None:
        self._kept.pop(key, None)
        self._kept[key] = value
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        self._kept.clear()
