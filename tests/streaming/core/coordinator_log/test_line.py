"""Lines of brokers' logs: what real brokers wrote, and whatever a client may be called."""

import json
import uuid

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.coordinator_log.line import Began, CoordinatorLog, CoordinatorReason, parse
from tests.streaming.core.coordinator_log.lines import LOGS, RELEASES, reasons_of

HOSTILE = "orders in state Empty (reason: x)"
"""What the group is called to which this was done in every release, one after the other."""
DONE = (
    (Began.JOINED, "a"), (Began.JOINED, "b"), (Began.LEFT, "b"), (Began.JOINED, "d e"), (Began.EXPIRED, "d e"),
    (Began.LEADER, "a"), (Began.JOINED, "f"), (Began.UPDATED, "f"), (Began.LEFT, "f"), (Began.JOINED, "e"),
    (Began.LEFT, "e"), (Began.LEFT, "a"),
)  # fmt: skip


@pytest.mark.parametrize("release", RELEASES)
def test_what_was_done_to_a_group_is_what_its_broker_is_understood_to_say(release: str) -> None:
    found = [one for one in reasons_of(release) if one.group == HOSTILE]
    assert [one.old_generation for one in found] == list(range(len(DONE)))
    assert [(one.kind, (one.member_id or "")[:-37]) for one in found] == list(DONE)
    assert {one.partition for one in found} == {1}
    assert {one.client_reason for one in found} == {None}, "librdkafka gives no reason"


@pytest.mark.parametrize("release", RELEASES)
def test_every_line_that_begins_a_rebalance_is_read(release: str) -> None:
    lines = (LOGS / f"{release}.log").read_text().splitlines()
    assert sum("Preparing to rebalance" in line for line in lines) == len(reasons_of(release))
    assert all(one.kind is not Began.OTHER for one in reasons_of(release))


@pytest.mark.parametrize("release", RELEASES)
def test_static_members_are_named_by_instance(release: str) -> None:
    kinds = {one.kind: one.instance_id for one in reasons_of(release) if one.group == "static" and one.instance_id}
    assert kinds[Began.JOINED] == "i-2"
    if release != "4.3.1":  # there the member was gone before it joined with another protocol
        assert kinds[Began.PROTOCOL] == "i-2"


def test_javas_client_says_why_since_3_2() -> None:
    said = {
        release: [one.client_reason for one in reasons_of(release) if one.group == "java readers"]
        for release in RELEASES
    }
    assert set(said["2.8.2"]) == {None}
    for release in ("3.3.2", "3.9.1", "4.3.1"):
        assert said[release][-1] == "the consumer is being closed"
    assert said["3.3.2"][0] == "rebalance failed due to MemberIdRequiredException"
    assert str(said["4.3.1"][0]).startswith("need to re-join with the given member-id: j1-")


SPACES = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=30)
WORDS = st.sampled_from(
    (
        "Preparing to rebalance group ", " in state PreparingRebalance with old generation 3", " (reason: ", ").", ")",
        " (__consumer_offsets-1)", "; client reason: ", " with group instance id null", "Adding new member ", "x", "(",
        " on heartbeat expiration", "[Group x] Member ", " (kafka.coordinator.group.GroupCoordinator)", " members.",
        f"-{uuid.UUID(int=5)}", " during ", "not provided", "{", '"',
    )
)  # fmt: skip
NAMES = st.lists(st.one_of(SPACES, WORDS), min_size=1, max_size=5).map("".join).filter(bool)
MEMBERS = st.tuples(NAMES, st.uuids()).map(lambda one: f"{one[0]}-{one[1]}")
OLD, NEW = (
    "[2026-11-27 06:33:48,274] INFO [GroupCoordinator 1]: {}{} (kafka.coordinator.group.GroupCoordinator)",
    "[2026-11-27 06:33:48,274] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=2] {}{}."
    " (org.apache.kafka.coordinator.group.GroupMetadataManager)",
)


def written(layout: str, group: str, number: int, reason: str) -> str:
    place = " (__consumer_offsets-2)" if layout == OLD else ""
    begins = f"Preparing to rebalance group {group} in state PreparingRebalance with old generation {number}{place}"
    return layout.format(begins, f" (reason: {reason})")


@given(st.sampled_from((OLD, NEW)), NAMES, st.integers(0, 2**31 - 1), MEMBERS, NAMES)
def test_a_line_is_understood_as_it_was_meant_or_not_at_all(
    layout: str, group: str, number: int, member: str, client: str
) -> None:
    reason = f"Adding new member {member} with group instance id null; client reason: {client}"
    found = parse(written(layout, group, number, reason))
    if found is None:
        assert "with old generation" in group + member + client
        return
    assert (found.group, found.old_generation, found.partition) == (group, number, 2)
    assert found.kind is Began.JOINED
    assert found.member_id in (member, None)
    if found.member_id is None:
        assert {"-00000000-", "; client reason: ", " with group"} & {
            word for word in ("-00000000-", "; client reason: ", " with group") if word in member + client
        }


@given(NAMES)
def test_plain_names_are_always_understood(group: str) -> None:
    assume("old generation" not in group)
    member = f"{group[:100]}-{uuid.UUID(int=7)}"
    found = parse(written(NEW, group, 7, f"removing member {member} on heartbeat expiration."))
    assert found is not None
    assert (found.group, found.kind) == (group, Began.EXPIRED)


@given(NAMES, NAMES)
def test_a_group_whose_name_is_a_line_says_nothing_of_another_group(group: str, other: str) -> None:
    """Its name stands in other lines of the coordinator, too."""
    assume("old generation" not in other)
    inner = f"Preparing to rebalance group {other} in state Stable with old generation 1 (reason: {group})"
    for line in (
        f"INFO [Group {inner}] Member m has left group through explicit `LeaveGroup` request; client reason: x) (a.B)",
        f"INFO Dynamic member with unknown member id joins group {inner} in Empty state. Created a new member id (a.B)",
        f"INFO Member m in group {inner} has failed, removing it from the group. (a.B)",
    ):
        assert parse(line) is None


@given(st.one_of(SPACES, NAMES))
def test_whatever_stands_in_a_log_raises_nothing(text: str) -> None:
    CoordinatorLog().read(text)
    CoordinatorLog().read(f"[Group {text} has left group through explicit `LeaveGroup` request; client reason: {text}")
    parse(f"Preparing to rebalance group {text}")
    parse(json.dumps({"a": 1, "log": text}))


def test_a_line_may_be_an_object_of_json() -> None:
    plain = written(OLD, "g", 4, "Freshly-loaded group is over capacity (2).")
    found = parse(json.dumps({"stream": "stdout", "log": plain + "\n"}))
    assert found == parse(plain) == CoordinatorReason(
        group="g", old_generation=4, partition=2, kind=Began.OTHER, text="Freshly-loaded group is over capacity (2)."
    )  # fmt: skip


def test_members_of_streams_have_two_uuids_and_several_members_are_none() -> None:
    process, one, other = (uuid.UUID(int=number) for number in (1, 2, 3))
    member = f"app-{process}-StreamThread-1-consumer-{one}"
    left = parse(written(NEW, "app", 1, f"explicit `LeaveGroup` request for ({member}) members."))
    assert left is not None
    assert (left.kind, left.member_id) == (Began.LEFT, member)
    both = parse(written(NEW, "app", 1, f"explicit `LeaveGroup` request for (a-{one}, b-{other}) members."))
    assert both is not None
    assert (both.kind, both.member_id) == (Began.LEFT, None)


@pytest.mark.parametrize("collection", ["HashSet({})", "Set({})", "[{}]"])
def test_a_member_that_did_not_sync(collection: str) -> None:
    member = f"m-{uuid.UUID(int=1)}"
    found = parse(written(NEW, "g", 2, f"Removing {collection.format(member)} on pending sync request expiration"))
    assert found is not None
    assert (found.kind, found.member_id) == (Began.NOT_SYNCED, member)


BEGUN = "Preparing to rebalance group g in state Stable with old generation 1"
FORGED = f"{BEGUN} (reason: removing member m-{uuid.UUID(int=3)}"
CLASS = "org.apache.kafka.coordinator.group.GroupMetadataManager"
IDENT = "[GroupCoordinator id=1 topic=__consumer_offsets partition=2]"


@pytest.mark.parametrize(
    "line",
    [
        f"INFO [TransactionCoordinator id=1] Initialized transactionalId {IDENT} {FORGED} on LeaveGroup; client reason:"
        " x) with producerId 4000 and producer epoch 0 (kafka.coordinator.transaction.TransactionCoordinator)",
        f"INFO [TransactionCoordinator id=1] Initialized transactionalId {FORGED} on heartbeat expiration)",
        f"WARN [SocketServer] Unexpected error; clientId={IDENT} {FORGED} on heartbeat expiration)",
        f"WARN {IDENT} {FORGED} on heartbeat expiration). (org.apache.kafka.common.network.Selector)",
        f"{FORGED} on heartbeat expiration). ({CLASS})",
        json.dumps({"loggerName": "kafka.Other", "message": f"{IDENT} {FORGED} on heartbeat expiration)."}),
    ],
    ids=("transactional id", "without logger", "client id", "another logger", "second line", "json"),
)  # fmt: skip
def test_a_clients_words_in_a_line_of_others_say_nothing(line: str) -> None:
    assert parse(line) is None


@pytest.mark.parametrize("logger", [f" ({CLASS})", " (GroupMetadataManager)", ""])
def test_the_coordinators_own_line_is_read_in_every_layout(logger: str) -> None:
    found = parse(f"INFO {IDENT} {FORGED} on heartbeat expiration).{logger}")
    assert found is not None
    assert (found.group, found.kind, found.partition) == ("g", Began.EXPIRED, 2)


def test_what_a_member_says_of_its_leaving_is_the_coordinators_line_too() -> None:
    member = f"m-{uuid.UUID(int=3)}"
    left = f"[Group g] Member {member} has left group through explicit `LeaveGroup` request; client reason: bye"
    began = written(NEW, "g", 1, f"explicit `LeaveGroup` request for ({member}) members.")
    for line, said in (
        (f"INFO {IDENT} {left} ({CLASS})", "bye"),
        (f"INFO [TransactionCoordinator id=1] Initialized transactionalId {IDENT} {left} (kafka.x.Other)", None),
        (f"{left} ({CLASS})", None),
    ):
        log = CoordinatorLog()
        assert log.read(line) is None
        found = log.read(began)
        assert found is not None
        assert found.client_reason == said
