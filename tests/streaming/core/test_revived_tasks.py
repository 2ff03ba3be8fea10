"""Workers of older releases remember the tasks of a connector that was deleted (KAFKA-8869), or take a commit that came
after its end (KAFKA-16838): made anew, it has them back at once. Seen on real workers of 2.4.1."""

from dataclasses import replace

import pytest

from rebalance_monitor.schemas.connect_topics import ConnectorConfigured, ConnectorDeleted, TasksCommitted, TaskStaged
from rebalance_monitor.streaming.core.connect.config_history import MAX_LEFT, ConfigState, apply
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.results import Grade, Severity
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from tests.streaming.core.rules.builders import CONFIGS, STATUSES, Story, generations, incidents
from tests.streaming.core.rules.processes import JAVA

KNOWN = ConnectSettings(config_topic=CONFIGS, status_topic=STATUSES, max_delay_ms=300_000, java_version=JAVA)
MADE_ANEW = {"properties": {"name": "c1"}}


def begun(era: str, release: str | None, protocol: str = "sessioned") -> Story:
    story = Story(protocol, era=era, known=replace(KNOWN, release=release))
    story.configure("c1", 3)
    story.configure("c2", 1)
    story.join("w1", "w2")
    story.rebalance()
    story.delete("c1")
    story.rebalance()
    story.rebalance()
    return story


def deleted_and_made_anew(release: str | None, protocol: str = "sessioned") -> Story:
    story = begun("A1", release, protocol)
    story.config("connector-c1", MADE_ANEW, {"c1": 3, "c2": 1})
    story.rebalance()
    story.rebalance()
    story.commit("c1", 1)
    story.rebalance()
    story.rebalance()
    return story


def committed_after_its_end(release: str | None) -> Story:
    story = begun("A5", release)
    for number in range(2):
        story.config(f"task-c1-{number}", {"properties": {}}, {"c2": 1})
    story.config("commit-c1", {"tasks": 2}, {"c2": 1})
    story.config("connector-c1", MADE_ANEW, {"c1": 2, "c2": 1})
    story.rebalance()
    story.rebalance()
    return story


@pytest.mark.parametrize(
    "story",
    [
        deleted_and_made_anew("2.4.1"),
        deleted_and_made_anew("2.4.1", "default"),
        committed_after_its_end("3.6.2"),
    ],
)
def test_with_the_release_known_the_old_tasks_are_expected(story: Story) -> None:
    results = story.fold()
    assert {one.verdict.grade for one in generations(results)} == {Grade.MATCH}
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]


@pytest.mark.parametrize("protocol", ["sessioned", "default"])
def test_with_the_release_unknown_they_are_explained(protocol: str) -> None:
    results = deleted_and_made_anew(None, protocol).fold()
    reasons = {one.verdict.why for one in generations(results) if one.verdict.grade is Grade.EXPLAINABLE}
    assert reasons == {"a connector that was made anew has its old tasks back, as in releases before 3.7.1"}
    assert Grade.UNEXPLAINED not in {one.verdict.grade for one in generations(results)}
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]


@pytest.mark.parametrize("story", [deleted_and_made_anew("2.5.1"), committed_after_its_end("3.7.1")])
def test_a_release_without_the_fault_is_not_the_leaders(story: Story) -> None:
    verdicts = [one.verdict for one in generations(story.fold())]
    assert ReasonKind.OTHER_RELEASE in {one.reason.kind for one in verdicts if one.reason is not None}
    assert Grade.UNEXPLAINED not in {one.grade for one in verdicts}


def test_what_is_kept_of_deleted_connectors_is_bounded() -> None:
    state = ConfigState()
    for number in range(MAX_LEFT + 10):
        name = f"c{number}"
        for record in (
            ConnectorConfigured(name),
            TaskStaged(name, 0),
            TasksCommitted(name, 1),
            ConnectorDeleted(name),
        ):
            state = apply(state, record)
    assert len(state.left) == MAX_LEFT
    assert f"c{MAX_LEFT + 9}" in state.left
    assert "c0" not in state.left
