"""The records of a group that wait for their turn: a queue whose rows lie outside the envelope.

Theory. A record waits until its evidence has come, and everything behind it waits too, so a queue can become long: a
first reading of history reads a whole partition of the coordinator's log before the config topic. Each record is
therefore stored by itself when it comes and deleted when it was judged, and what a call of the fold has to know of all
of them is kept beside (`Queue`): where the queue begins and ends, the highest generation in it, and its earliest time.
The earliest time of a queue whose head moves on needs no list of all times: where times rise, the head's is the
earliest, so only the records that are earlier than the one in front of them are remembered.

    times  10 20 15 30     falls: (2, 15)     earliest: 10
    head leaves: 20 15 30  falls: (2, 15)     earliest: min(20, 15) = 15
    head leaves: 15 30     falls: (2, 15)     earliest: 15

A call is given the first rows of the queue, at least two if there are as many. A head that still waits needs no more.
One whose evidence is there is judged if the records that a lifecycle may look at are given too (`LOOK_AHEAD`); if not,
the call ends there, says so, and is followed by another one with more rows.
"""

from collections.abc import Callable, Iterator, Mapping

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.codec import dumps
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Waiting
from .state import Queue

LOOK_AHEAD = 256
"""Records behind the one whose turn it is that a lifecycle may look at."""


class WaitingRecords:
    """The queue of one group during a call of the fold. `given`: stored rows by position; `read`: one of them."""

    def __init__(self, queue: Queue, given: Mapping[int, bytes], read: Callable[[bytes], Waiting]) -> None:
        self.queue, self._given, self._read = queue, dict(given), read
        self._records: dict[int, Waiting] = {}
        self._reach = queue.first  # every position from the first up to here is known to be given

    def append(self, waiting: Waiting) -> None:
        queue, at_ms = self.queue, waiting.row.timestamp_ms
        fell = queue.first < queue.end and at_ms < queue.last_ms
        generation = waiting.row.body.generation if isinstance(waiting.row.body, GroupGeneration) else -1
        self._records[queue.end] = waiting
        self.queue = replace(
            queue,
            end=queue.end + 1,
            generation=max(queue.generation, generation),
            last_ms=at_ms,
            falls=(*queue.falls, (queue.end, at_ms)) if fell else queue.falls,
        )

    def pop(self) -> None:
        queue, first = self.queue, self.queue.first + 1
        self._records.pop(queue.first, None)
        self._given.pop(queue.first, None)
        if first >= queue.end:
            self.queue, self._reach = Queue(), 0
            return
        falls = tuple(one for one in queue.falls if one[0] >= first) if queue.falls else ()
        self.queue = replace(queue, first=first, announced=max(first, queue.announced), falls=falls)

    def head(self) -> Waiting | None:
        """The first record; None if nothing waits. Raises KeyError if it was not given."""
        return self._at(self.queue.first) if self.queue.first < self.queue.end else None

    def following(self) -> Row | None:
        """The record behind the first; None if there is none. Raises KeyError if it was not given."""
        second = self.queue.first + 1
        return self._at(second).row if second < self.queue.end else None

    @property
    def head_announced(self) -> bool:
        """Whether the first record was there at the end of a reading before."""
        return self.queue.first < self.queue.announced

    def given(self, ahead: int) -> bool:
        """Whether the first record and so many behind it are here, as far as there are as many."""
        wanted = min(self.queue.end, self.queue.first + 1 + ahead)
        self._reach = max(self._reach, self.queue.first)
        while self._reach < wanted and (self._reach in self._records or self._reach in self._given):
            self._reach += 1
        return self._reach >= wanted

    def coming(self) -> Iterator[Row]:
        """The records behind the first, as far as anybody may look."""
        first, end = self.queue.first, self.queue.end
        for at in range(first + 1, min(end, first + 1 + LOOK_AHEAD)):
            yield self._at(at).row

    def unannounced(self) -> Iterator[Waiting]:
        """The records that joined since the last reading; they count as announced from here on."""
        for at in range(max(self.queue.first, self.queue.announced), self.queue.end):
            yield self._at(at)
        if self.queue.end:
            self.queue = replace(self.queue, announced=self.queue.end)

    def earliest_ms(self) -> int | None:
        """No record in the queue is earlier; None if nothing waits."""
        if not self.given(0):
            return 0
        head = self.head()
        return None if head is None else min([head.row.timestamp_ms, *(at_ms for _, at_ms in self.queue.falls)])

    def stored(self) -> dict[int, bytes]:
        """The rows that are here and still wait, by position: those given as they were, the others as text."""
        here = {at: row for at, row in self._given.items() if self.queue.first <= at < self.queue.end}
        here |= {at: dumps(one).encode("utf-8", "surrogatepass") for at, one in self._records.items() if at not in here}
        return dict(sorted(here.items()))

    def _at(self, position: int) -> Waiting:
        if position not in self._records:
            self._records[position] = self._read(self._given[position])
        return self._records[position]
