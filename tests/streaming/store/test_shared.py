"""What is stored of a generation once a day and what each time; all of it is told as it was."""

import hashlib
import struct
from dataclasses import replace
from typing import Any

import pytest

from rebalance_monitor.streaming.core.columns import day_of
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import Cause, Change, Generation
from rebalance_monitor.streaming.core.ports import Overtaken
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.store.shared import SHORT, parted
from tests.streaming.builders import GROUP, commit, generation, member, pending, state

MOST_INT4 = 2**31 - 1
GIVEN = b"given" * SHORT


def named(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()


def sent(number: int, more: bytes = b"topic") -> bytes:
    """A subscription that tells of the generation before, as Kafka's consumers send it."""
    return b"\x00\x03" + struct.pack(">i", number - 1) + more + struct.pack(">i", number) + struct.pack(">i", -1)


def of(offset: int, number: int, *blobs: bytes, **more: Any) -> Generation:
    return with_members(generation(offset, generation=number, **more), *blobs)


def with_members(made: Generation, *blobs: bytes) -> Generation:
    """The generation with members that sent these bytes, and were all given the same ones."""
    given = named(GIVEN)
    members = (
        replace(member(at), subscription_hash=named(blob), assignment_hash=given) for at, blob in enumerate(blobs)
    )
    return replace(made, members=tuple(members))


def blobs_of(*blobs: bytes) -> dict[str, bytes]:
    return {named(one): one for one in (*blobs, GIVEN)}


def test_generations_that_differ_by_their_numbers_have_all_else_in_common() -> None:
    parts = [
        parted(made, as_object(made), blobs_of(sent(number)))
        for number in (700, 701)
        for made in [of(number, number, sent(number), at_ms=number)]
    ]
    assert parts[0].content == parts[1].content
    assert parts[0].sent == parts[1].sent
    assert parts[0].named == {named(GIVEN)}
    assert parts[0].held == {named(sent(700))}


def test_bytes_that_did_not_come_along_or_have_another_name_are_named() -> None:
    made = of(7, 700, sent(700))
    alone = parted(made, as_object(made), {})
    assert alone.sent is None
    assert alone.named == {named(sent(700)), named(GIVEN)}
    other = replace(made, members=(replace(made.members[0], subscription_hash="short"),))
    known = parted(other, as_object(other), {"short": sent(700), named(GIVEN): GIVEN})
    assert known.named == {"short", named(GIVEN)}


class Told:
    """What views tell of one store."""

    def __init__(self, store: PostgresStore) -> None:
        self.store, self.epoch, self.next = store, store.claim(), 0

    def write(self, *made: Generation, blobs: dict[str, bytes] | None = None) -> None:
        start, self.next = self.next, self.next + 10
        states = {GROUP: state(revision=start // 10)}
        self.store.commit(commit(self.epoch, start, self.next, *made, states=states, blobs=blobs or {}))

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with self.store.database.session() as connection:
            return connection.execute(statement.encode()).fetchall()

    def documents(self) -> list[Any]:
        return [one for (one,) in self.rows('select document from rebalance_monitor.generations order by "offset"')]

    def check(self, *made: Generation, blobs: dict[str, bytes]) -> None:
        """All that was sent is told as it was."""
        assert self.documents() == [as_object(one) for one in made]
        names = [
            (one.source.offset, at, each.subscription_hash, each.assignment_hash)
            for one in made
            for at, each in enumerate(one.members)
        ]
        columns = '"offset", ordinal, subscription_hash, assignment_hash'
        assert self.rows(f"select {columns} from rebalance_monitor.members order by 1, 2") == names
        told = self.rows("select hash, day, blob from rebalance_monitor.assignments order by 1")
        assert [(name, day, bytes(blob)) for name, day, blob in told] == sorted(
            {
                (name, day_of(one.at_ms), blobs[name])
                for one in made
                for each in one.members
                for name in (each.subscription_hash, each.assignment_hash)
            }
        )


@pytest.fixture
def told(store: PostgresStore) -> Told:
    return Told(store)


pytestmark = pytest.mark.postgres


def test_views_tell_documents_names_and_bytes_as_they_were(told: Told) -> None:
    some = [
        of(5, 1, sent(1), sent(1, b"other")),
        of(6, 257, sent(257), b"plain", cause=(Cause(kind="worker_joined"),), diff={"w": Change(gained=("a",))}),
        of(7, 258, sent(258), b"plain", state_ms=None),
        of(8, MOST_INT4, sent(MOST_INT4), b"\x00" + struct.pack(">i", MOST_INT4) * 2),
    ]
    blobs = blobs_of(
        sent(1), sent(1, b"other"), sent(257), sent(258), b"plain", sent(MOST_INT4),
        b"\x00" + struct.pack(">i", MOST_INT4) * 2,
    )  # fmt: skip
    told.write(*some, blobs=blobs)
    told.check(*some, blobs=blobs)


def test_a_verdict_that_comes_later_without_the_bytes_keeps_them(told: Told) -> None:
    first, last = with_members(pending(5, generation=700), sent(700)), of(5, 700, sent(700))
    told.write(first, blobs=blobs_of(sent(700)))
    told.write(last)
    told.check(last, blobs=blobs_of(sent(700)))


def test_a_state_comes_back_through_its_deltas_and_a_lost_row_is_noticed(store: PostgresStore) -> None:
    epoch = store.claim()
    lines = b"".join(b"member %d of the group\n" % number for number in range(400))
    for number in range(30):
        lines = lines.replace(b"member %d of" % number, b"member %d, not %d, of" % (number + 7, number))
        held = store.load([GROUP]).get(GROUP)
        revision = 0 if held is None else held.revision
        written = replace(state(revision=revision), state=lines)
        store.commit(commit(epoch, number, number + 1, states={GROUP: written}))
        assert store.load([GROUP])[GROUP].state == lines
    for number, more in ((30, b"another" * 1_000), (31, b"another" * 1_000 + b"more")):
        store.commit(commit(epoch, number, number + 1, states={GROUP: replace(state(revision=number), state=more)}))
    with store.database.session() as connection:
        ((has_delta,),) = connection.execute("select delta is not null from rebalance_monitor.states").fetchall()
        connection.execute("delete from rebalance_monitor.states")
    assert has_delta
    with pytest.raises(Overtaken):
        store.commit(commit(epoch, 32, 33, states={GROUP: replace(state(revision=32), state=more + b"more")}))
