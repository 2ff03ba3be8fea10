"""Who is meant to run what: patterns, addresses, names that could be two jobs, declarations that outlive a worker."""

from dataclasses import replace

from rebalance_monitor.streaming.core.connect.intent import Intent, intent_of, remembered
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask, Observed, observe
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Source
from tests.streaming.core.rules.builders import Story


def record(story: Story) -> tuple[GroupGeneration, Observed]:
    body = story.rows[-1].body
    assert isinstance(body, GroupGeneration)
    return body, observe(body, Source("t", 0, 0), 0)


def placed(placements: dict[str, tuple[str, ...]], configured: frozenset[ConnectorOrTask] = frozenset()) -> Intent:
    story = Story.begun({"c": 1}, "w1", "w2")
    body, observed = record(story)
    view = observed.views["connect-w2:8083-00000002"]
    views = {**observed.views, view.member_id: replace(view, worker="[::1]:8083")}
    intent = intent_of(body, replace(observed, views=views), placements, {}, configured)
    assert intent is not None
    return intent


def listed(intent: Intent) -> dict[str, set[ConnectorOrTask]]:
    return {member_id[8:10]: set(jobs) for member_id, jobs in intent.lists.items()}


def test_patterns_exact_names_and_addresses_with_brackets() -> None:
    intent = placed({"a": ("W1:8083",), "b-0": ("w?:*",), "c": ("[::1]:8083",), "d": ("elsewhere:1", "w1:*")})
    assert listed(intent) == {"w1": {"a", ("b", 0), "d"}, "w2": {"c"}}
    assert intent.away == {"elsewhere:1": frozenset({"d"})}
    assert intent.declared() == {"a", ("b", 0), "c", "d"}


def test_a_connector_called_like_a_task_is_meant_where_only_it_exists() -> None:
    assert listed(placed({"a-1": ("w1:8083",)}, frozenset({"a-1"}))) == {"w1": {"a-1"}}
    assert listed(placed({"a-1": ("w1:8083",)}, frozenset({"a-1", ("a", 1)}))) == {"w1": {("a", 1)}}


def test_declarations_outlive_their_worker_and_another_protocol() -> None:
    story = Story("static")
    story.configure("c", 2)
    story.join("w1")
    story.join("w2", static=["c-0"])
    story.rebalance()
    known = remembered({}, *record(story))
    assert known == {"w2:8083": frozenset({("c", 0)})}
    story.leave("w2")
    story.rebalance()
    assert remembered(known, *record(story)) == known
    story.protocol = "sessioned"
    story.rebalance()
    assert remembered(known, *record(story)) == known
    story.protocol = "static"
    story.join("w2")
    story.rebalance()
    assert remembered(known, *record(story)) == {}


def test_the_workers_seen_last_are_remembered() -> None:
    story = Story("static")
    story.configure("c", 2)
    story.join("w1", static=["c-0"])
    story.rebalance()
    known: dict[str, frozenset[ConnectorOrTask]] = {f"old{number}:8083": frozenset({"c"}) for number in range(5)}
    assert list(remembered(known, *record(story), bound=2)) == ["old4:8083", "w1:8083"]
