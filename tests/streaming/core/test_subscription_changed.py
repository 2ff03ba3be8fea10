"""A member of the classic protocol that joins with other topics than before: a cause, and a line of the ranking."""

from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import Certainty
from rebalance_monitor.streaming.stories.why import ranking
from tests.streaming.core.rules.builders import Story, generations
from tests.streaming.core.rules.consumers import Consumer, record

STAYS = Consumer(id="a", topics="a b", given="a-0 b-0", client_id="one")


def flips(*topics: str) -> Story:
    story = Story()
    for one in topics:
        given = " ".join(f"{topic}-1" for topic in one.split())
        record(story, "range", STAYS, Consumer(id="m", topics=one, given=given, client_id="two"))
    return story


def causes(story: Story) -> list[tuple[str, str, list[str]]]:
    newest = [generation.cause for generation in generations(story.fold())]
    return [(one.kind, one.certainty.value, [each.id for each in one.subjects]) for one, *_ in newest]


def test_topics_that_a_member_did_not_subscribe_to_before_are_the_likely_cause() -> None:
    _, changed, same, order = causes(flips("a", "a b", "a b", "b a"))
    assert changed == ("subscription_changed", Certainty.LIKELY.value, ["m"])
    assert (same[0], order[0]) == ("unknown", "unknown")


def test_what_nobody_could_read_before_is_no_change() -> None:
    story = Story()
    record(story, "range", STAYS)
    record(story, "range", STAYS, Consumer(id="m", topics="b", given="b-1"))
    assert [kind for kind, _, _ in causes(story)] == ["member_joined", "member_joined"]


def test_a_subscription_that_flips_is_ranked_with_whose_it_is() -> None:
    told = ranking(map(as_object, generations(flips("a", "a b", "a", "a b", "a").fold())))
    first, *_ = told.reasons
    assert (first.code, first.count) == ("subscription_changed", 4)
    assert "two on 10.0.0.1 4 times" in first.text
