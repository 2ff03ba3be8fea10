"""Sums over the members of a group that follow single members: how many have a thing, and what is due when.

A record changes one member. Laws ask what all members together come to. So the sums are kept, and a change costs what
the member has, not what all have.

    m1 {0 1}, m2 {1 2}      0 once, 1 twice, 2 once      several: 1
    m2 {2}                  0 once, 1 once, 2 once       several: nothing
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Times(Generic[T]):
    """How many times each thing is there. `several`: what is more than once."""

    def __init__(self) -> None:
        self._times: dict[T, int] = {}
        self.several: set[T] = set()

    def count(self, things: Iterable[T], by: int) -> None:
        """Each of these once more (1), or once less (-1)."""
        for thing in things:
            times = self._times.get(thing, 0) + by
            if times:
                self._times[thing] = times
            else:
                del self._times[thing]
            if times > 1:
                self.several.add(thing)
            else:
                self.several.discard(thing)

    def __contains__(self, thing: object) -> bool:
        return thing in self._times

    def __iter__(self) -> Iterator[T]:
        return iter(self._times)


class Dues:
    """Times (ms) at which something of a member is due, in order."""

    def __init__(self) -> None:
        self._dues: list[tuple[int, str]] = []

    def add(self, at_ms: int, name: str) -> None:
        """Something of this member is due at this time."""
        insort(self._dues, (at_ms, name))

    def drop(self, at_ms: int, name: str) -> None:
        """It is not due any more."""
        del self._dues[bisect_left(self._dues, (at_ms, name))]

    def until(self, at_ms: int) -> list[str]:
        """Members of which something is due at this time, or was before."""
        return [name for _, name in self._dues[: bisect_right(self._dues, at_ms, key=_at_ms)]]

    def after(self, at_ms: int | None) -> int | None:
        """The first time after this one, of all times if it is None; None where nothing is due."""
        first = 0 if at_ms is None else bisect_right(self._dues, at_ms, key=_at_ms)
        return self._dues[first][0] if first < len(self._dues) else None


def _at_ms(due: tuple[int, str]) -> int:
    return due[0]
