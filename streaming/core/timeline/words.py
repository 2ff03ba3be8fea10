"""When workers say for the first time that they have come to a generation, where nobody read their words as they came.

Live, a status has been written by the time it is read, whatever its worker's clock says. In a replay, and in history,
only the records' own times are left: a worker whose clock is minutes ahead, or a coordinator's that is behind, makes
every job look taken up late. So a worker's patience begins with its own first word of that generation, unless both
clocks are known to be right.

    10:00:00 record 7: A is given c-0       A's clock has been right before, somebody wrote of 7 at once: from 10:00:00
    10:05:01 A RUNNING 7 of another job     else from 10:05:01
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence

from streaming.core.statuses import SKEW_MS, Sighting
from streaming.core.timeline.step import Step

Word = tuple[int, int]
"""Time and generation of a status."""


class FirstWords:
    """The statuses that nobody saw come, and how their times fit those of the records."""

    def __init__(self, sightings: Iterable[Sighting], steps: Sequence[Step]) -> None:
        recorded = {(step.generation, step.at_ms) for step in steps}
        recorded_ms: dict[int, list[int]] = {}
        for generation, at_ms in recorded:
            recorded_ms.setdefault(generation, []).append(at_ms)
        self._of: dict[str, list[Word]] = {}
        self._right: set[str] = set()
        for one in sightings:
            self._of.setdefault(one.worker, []).append((one.at_ms, one.generation))
            if any(abs(one.at_ms - at_ms) <= SKEW_MS for at_ms in recorded_ms.get(one.generation, ())):
                self._right.add(one.worker)
        for words in self._of.values():
            words.sort()
        self._all = sorted(word for words in self._of.values() for word in words)

    def given_ms(self, step: Step, worker: str) -> int:
        """From when on this worker surely knew what the record gives it."""
        if not self._all:
            return step.at_ms
        anybody_ms = _first_ms(self._all, step)
        if worker in self._right and anybody_ms is not None and anybody_ms <= step.at_ms + SKEW_MS:
            return step.at_ms
        own_ms = _first_ms(self._of.get(worker, ()), step)
        first_ms = anybody_ms if own_ms is None else own_ms
        return step.at_ms if first_ms is None else max(first_ms, step.at_ms)


def _first_ms(words: Sequence[Word], step: Step) -> int | None:
    """The earliest word of this generation or a later one, not long before its record."""
    at = bisect_left(words, (step.at_ms - SKEW_MS, -1))
    coming = (words[index] for index in range(at, len(words)))
    return next((at_ms for at_ms, generation in coming if generation >= step.generation), None)


def words_of(
    sightings: Iterable[Sighting], steps: Sequence[Step], *, finite: bool, heard: Collection[str]
) -> FirstWords:
    """Of all statuses of a `finite` input, else of those in history; not of workers that were `heard` as they spoke."""
    unseen = [one for one in sightings if (finite or one.historic) and one.worker not in heard]
    return FirstWords(unseen, steps)
