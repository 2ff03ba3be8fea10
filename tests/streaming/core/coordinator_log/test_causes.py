"""What the coordinator says leads the causes of the generation that its rebalance led to, and of no other."""

from typing import Any

import pytest

from rebalance_monitor.streaming.cli.exit_codes import InputError
from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.core.coordinator_log.causes import with_all_reasons
from rebalance_monitor.streaming.core.coordinator_log.line import Began, CoordinatorReason
from rebalance_monitor.streaming.stories.story import GenerationRow, story
from tests.streaming.core.coordinator_log.lines import LOGS

CAPTURE = LOGS.parent / "captures-groups" / "java-classic"
FOUND = capture_of(str(CAPTURE))
CLUSTER = FOUND.names()[0][0]


def generations(group: str) -> list[dict[str, Any]]:
    """The newest first, as they are without a broker's log."""
    return list(FOUND.generations((CLUSTER, group)))


def told(group: str, *reasons: CoordinatorReason) -> list[dict[str, Any]]:
    return with_all_reasons(generations(group), reasons)


def reason(old: int, kind: Began, member: str | None, text: str, client: str | None = None) -> CoordinatorReason:
    return CoordinatorReason(
        group="g", old_generation=old, partition=None, kind=kind, text=text, member_id=member, client_reason=client
    )


def of(several: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """Records of this generation, the newest first."""
    return [one for one in several if one["generation"] == number]


def gone(group: str, number: int) -> str:
    """The member of the generation before that is not in this one."""
    (now,), (before,) = of(generations(group), number), of(generations(group), number - 1)[:1]
    (name,) = {one["member_id"] for one in before["members"]} - {one["member_id"] for one in now["members"]}
    return str(name)


def causes(generation: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    return [(one["kind"], one["certainty"], [s["id"] for s in one["subjects"]]) for one in generation["cause"]]


def test_how_a_member_went_is_certain_then() -> None:
    member = gone("j-pattern", 3)
    (before,) = of(generations("j-pattern"), 3)
    assert causes(before) == [("member_left", "likely", [member])]
    (left,) = of(told("j-pattern", reason(2, Began.LEFT, member, "explicit", "the consumer is being closed")), 3)
    assert causes(left) == [("member_left", "certain", [member])]
    assert left["cause"][0]["evidence"] == [
        {"text": "the coordinator says: explicit; client reason: the consumer is being closed"}
    ]
    (lost,) = of(told("j-pattern", reason(2, Began.EXPIRED, member, "removing member m on heartbeat expiration.")), 3)
    assert causes(lost) == [("member_lost", "certain", [member])], "the coordinator's word on how it went counts"
    shown = story(GenerationRow(lost, CLUSTER, "j-pattern", ""))
    assert shown.causes == (
        f"members were removed because they fell silent or were late: {member}; the coordinator says: removing member m"
        " on heartbeat expiration",
    )  # fmt: skip


def test_what_says_something_else_stays_beside_it() -> None:
    (now,) = of(generations("j-range"), 3)
    (joined,) = now["cause"]
    leader = now["leader"]
    (both,) = of(told("j-range", reason(2, Began.LEADER, leader, f"Leader {leader} re-joining group")), 3)
    assert causes(both)[0] == ("member_rejoined", "certain", [leader])
    assert both["cause"][1:] == [joined]


def test_a_clients_own_reason_says_what_has_changed() -> None:
    (now,) = of(generations("j-cooperative-sticky"), 3)
    assert causes(now) == [("unknown", "possible", [])]
    member = now["members"][0]["member_id"]
    text = "need to revoke partitions and re-join"
    (known,) = of(told("j-cooperative-sticky", reason(2, Began.UPDATED, member, f"Updating; {text}", text)), 3)
    assert [(kind, sure) for kind, sure, _ in causes(known)] == [("revocation_follow_up", "certain")]


def test_changed_metadata_are_likely_topics_and_no_member() -> None:
    member = of(generations("j-cooperative-sticky"), 3)[0]["members"][0]["member_id"]
    text = "cached metadata has changed"
    (known,) = of(told("j-cooperative-sticky", reason(2, Began.LEADER, member, f"Leader; {text}", text)), 3)
    assert causes(known)[0] == ("topic_changed", "likely", [])


def test_a_record_that_was_written_again_was_led_to_by_no_rebalance() -> None:
    again, first = of(generations("j-roundrobin"), 2)
    text = reason(1, Began.JOINED, first["members"][0]["member_id"], "Adding")
    now, before = of(told("j-roundrobin", text), 2)
    assert now == again
    assert before["cause"][0]["certainty"] == "certain"


def test_a_member_that_neither_generation_has_makes_it_likely_and_other_numbers_get_nothing() -> None:
    several = told("j-pattern", reason(2, Began.JOINED, "somebody-else", "Adding"))
    (now,) = of(several, 3)
    assert causes(now)[0] == ("member_joined", "likely", ["somebody-else"])
    assert causes(now)[1:] == causes(of(generations("j-pattern"), 3)[0])
    others = [one for one in several if one["generation"] != 3]
    assert others == [one for one in generations("j-pattern") if one["generation"] != 3]


def test_a_coordinator_that_failed_over_says_nothing_of_a_rebalance_that_did_not_come_about() -> None:
    now, before = of(generations("j-range"), 3)[0], of(generations("j-range"), 2)[0]
    stayed = {one["member_id"] for one in before["members"]}
    (came,) = {one["member_id"] for one in now["members"]} - stayed
    joined = reason(2, Began.JOINED, came, "Adding")
    for kind in (Began.EXPIRED, Began.LEFT, Began.NOT_SYNCED):
        for member in (min(stayed), "somebody-else"):
            (both,) = of(told("j-range", reason(2, kind, member, "removing"), joined), 3)
            assert causes(both) == [("member_joined", "certain", [came])]
        assert of(told("j-range", reason(2, kind, min(stayed), "removing")), 3) == [now]
    (alone,) = of(told("j-range", reason(2, Began.EXPIRED, "somebody-else", "removing")), 3)
    assert causes(alone) == [("member_joined", "certain", [came]), ("member_lost", "likely", ["somebody-else"])]


def test_a_member_that_joined_and_is_not_there_is_likely_at_most() -> None:
    member = gone("j-pattern", 3)
    (now,) = of(told("j-pattern", reason(2, Began.JOINED, member, "Adding")), 3)
    assert {sure for _, sure, _ in causes(now)} == {"likely"}


def test_of_a_group_with_several_lives_only_what_its_members_confirm_is_told() -> None:
    first = generations("j-pattern")
    lives = [{**one, "incarnation": 1, "members": []} for one in first] + first
    member = of(first, 2)[0]["members"][0]["member_id"]
    said = with_all_reasons(lives, [reason(1, Began.JOINED, member, "Adding")])
    now, before = of(said, 2)
    assert causes(now) == causes(of(first, 2)[0])
    assert before["cause"][0]["evidence"] == [{"text": "the coordinator says: Adding"}]


@pytest.mark.parametrize("changed", [{"lifecycle": "consumer"}, {"sampled": {"at_ms": 1, "after_ms": None}}])
def test_numbers_that_are_not_the_coordinators_generations_are_not_joined(changed: dict[str, Any]) -> None:
    several = [{**one, **changed} for one in generations("j-pattern")]
    assert with_all_reasons(several, [reason(1, Began.JOINED, None, "Adding")]) == several


def test_a_log_that_cannot_be_read_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"--coordinator-log /nowhere cannot be read \(No such file or directory\)"):
        capture_of(str(CAPTURE), logs=["/nowhere"])
