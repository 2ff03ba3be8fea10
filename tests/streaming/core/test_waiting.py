"""The queue of waiting records against a plain list: whatever comes and goes, and whichever rows a call is given."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.fold.state import Queue
from rebalance_monitor.streaming.core.fold.waiting import WaitingRecords
from rebalance_monitor.streaming.core.model.codec import loads
from rebalance_monitor.streaming.core.model.records import GroupDeleted, GroupGeneration, Row, Waiting
from tests.profile import size

JOIN, LEAVE, NEXT_CALL = "join", "leave", "next call"


def record(offset: int, at_ms: int, generation: int) -> Waiting:
    """A record; one of generation -1 is a tombstone."""
    body = (
        GroupDeleted()
        if generation < 0
        else GroupGeneration(
            protocol_type="p", generation=generation, protocol=None, leader=None, state_ms=-1, members=()
        )
    )
    row = Row(topic="t", partition=0, offset=offset, timestamp_ms=at_ms, group="g", body=body)
    return Waiting(row, arrived_ms=at_ms + 5, historic=False)


def read(text: bytes) -> Waiting:
    return loads(Waiting, text.decode())


def generation_of(record: Waiting) -> int:
    return record.row.body.generation if isinstance(record.row.body, GroupGeneration) else -1


def agree(queue: WaitingRecords, plain: list[Waiting]) -> None:
    assert queue.head() == (plain[0] if plain else None)
    assert queue.following() == (plain[1].row if len(plain) > 1 else None)
    assert queue.earliest_ms() == min((one.row.timestamp_ms for one in plain), default=None)
    assert list(queue.coming()) == [one.row for one in plain[1:]]
    assert queue.queue.end - queue.queue.first == len(plain)
    assert queue.queue.generation >= max(map(generation_of, plain), default=-1)
    assert queue.given(len(plain))


steps = st.lists(
    st.tuples(st.just(JOIN), st.integers(0, 20), st.integers(-1, 9))
    | st.tuples(st.sampled_from([LEAVE, NEXT_CALL]), st.just(0), st.just(0)),
    max_size=40,
)


@given(steps)
@profile(max_examples=size(100, 3_000))
def test_it_is_a_queue_across_calls(told: list[tuple[str, int, int]]) -> None:
    queue, plain, announced = WaitingRecords(Queue(), {}, read), list[Waiting](), list[Waiting]()
    joined = 0
    for what, at_ms, generation in told:
        if what == JOIN:
            plain.append(record(joined, at_ms, generation))
            queue.append(plain[-1])
            joined += 1
        elif what == LEAVE and plain:
            queue.pop()
            plain.pop(0)
        elif what == NEXT_CALL:
            announced += queue.unannounced()
            queue = WaitingRecords(queue.queue, queue.stored(), read)
        agree(queue, plain)
    announced += queue.unannounced()
    assert len({one.row.offset for one in announced}) == len(announced)
    assert {one.row.offset for one in plain} <= {one.row.offset for one in announced}


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 12))
def test_it_says_what_it_was_not_given(count: int, there: int, ahead: int) -> None:
    full = WaitingRecords(Queue(), {}, read)
    for number in range(count):
        full.append(record(number, number, number))
    rows = dict(list(full.stored().items())[:there])
    part = WaitingRecords(full.queue, rows, read)
    assert part.given(ahead) == (min(count, 1 + ahead) <= there)
    assert part.earliest_ms() == 0


def test_rows_that_were_given_are_stored_as_they_were() -> None:
    def never(_text: bytes) -> Waiting:
        raise AssertionError("nobody asked for the record")

    reader: Callable[[bytes], Waiting] = never
    queue = WaitingRecords(Queue(first=3, end=6, announced=6), {3: b"a", 4: b"b"}, reader)
    queue.append(record(9, 1, 1))
    assert list(queue.stored()) == [3, 4, 6]
    assert queue.stored()[3] == b"a"
