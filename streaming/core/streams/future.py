"""Members of a newer version than their leader knows: it takes them all for one process, under an id it invented.

Theory (streams.md 3.3, 3.4). During an upgrade an old leader may lead threads whose payload it cannot read but for the
version in front. It makes one process of all of them: no tags, no endpoint, no offset sums. Its id is random, and no
record shows it. Of an id the high-availability assignor looks at nothing but its place among the others in order:

    processes     1f, 88, c2
    places tried  before 1f, between 1f and 88, between 88 and c2, behind c2

The sticky assignors also look at hashes of ids: there, a place that gives the record's answer explains it, and none
that does proves nothing.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from rebalance_monitor.assignors.streams.tasks import ProcessId, process_key
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.streams.members import StreamsThread
from rebalance_monitor.streaming.core.streams.observed import ObservedRecord

POOL: ProcessId = UUID(int=0)
"""Stands for the id that the leader invented."""
_LARGEST = (1 << 128) - 1


def pooled(threads: Sequence[StreamsThread], newest: int) -> tuple[StreamsThread, ...]:
    """The threads as a leader understands them that knows versions up to `newest`."""
    return tuple(_under(thread, POOL) if thread.said.version > newest else thread for thread in threads)


def in_pool(record: ObservedRecord) -> bool:
    """Whether any thread is in the pool."""
    return any(thread.process_id == POOL for thread in record.threads)


def named(record: ObservedRecord, process_id: ProcessId) -> ObservedRecord:
    """With this id for the pool."""
    threads = tuple(_under(thread, process_id) if thread.process_id == POOL else thread for thread in record.threads)
    return replace(record, threads=threads)


def places(processes: Iterable[ProcessId]) -> list[ProcessId]:
    """One possible id of the pool for each place among the other processes."""
    keys = sorted(process_key(one) for one in processes if one != POOL)
    if not keys:
        return [_process_of(1)]
    found = [keys[0] - 1, *(key + 1 for key in keys)]
    return [_process_of(key) for key in found if 0 <= key <= _LARGEST and key not in keys]


def _process_of(key: int) -> ProcessId:
    """The id whose sort key this is: both halves have their sign turned, once more turned back."""
    return UUID(int=process_key(UUID(int=key)))


def _under(thread: StreamsThread, process_id: ProcessId) -> StreamsThread:
    said = replace(
        thread.said,
        process_id=process_id.bytes,
        previous_tasks=(),
        standby_tasks=(),
        offset_sums=(),
        end_point="",
        client_tags=(),
    )
    return replace(thread, said=said)
