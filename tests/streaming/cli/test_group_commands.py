"""`status`, `explain` and `wait` of captures, and `wait` while time goes on."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml
from rich.table import Table

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.exit_codes import BAD_INPUT, CANNOT_TELL, DONE, FOUND, NOT_YET
from rebalance_monitor.streaming.cli.group_questions import Question
from rebalance_monitor.streaming.cli.group_sources import CapturedGroups, CaughtUp, capture_of
from rebalance_monitor.streaming.cli.monitor_api import Unreachable
from rebalance_monitor.streaming.cli.status import GroupsShown, look, screen, watch
from rebalance_monitor.streaming.cli.wait import Watch
from rebalance_monitor.streaming.stories.known import GroupFacts
from rebalance_monitor.streaming.stories.settled import Demand
from rebalance_monitor.streaming.web.rows import GroupName
from tests.vector_files import CAPTURES

ZOMBIE = ["--capture", str(CAPTURES / "zombie")]
STEADY = ["--capture", str(CAPTURES / "steady")]
LOST_MS = 1795177733_564
"""When a worker of the capture `zombie` was lost."""


def test_harmed_groups_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", *ZOMBIE, "--at", "2026-11-20T12:29:13Z"]) == FOUND
    assert main(["status", *ZOMBIE, "--at", "2026-11-20T12:28:57Z"]) == DONE
    first, second = capsys.readouterr().out.split("1 group at ")[1:]
    assert first.splitlines()[0] == "2026-11-20 12:29:13 UTC, 1 critical"
    assert "duplicate_active" in first
    assert "delay until 2026-11-20 12:29:02 UTC" in second


def test_one_group_is_six_lines_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", *ZOMBIE, "--at", "2026-11-20T12:28:57Z", "--group", "zombies"]) == DONE
    title, *lines = capsys.readouterr().out.splitlines()
    assert title == "zombies (zombie) at 2026-11-20 12:28:57 UTC"
    assert [line[2:12].strip() for line in lines] == ["what", "since", "harmed", "caused by", "ends", "do"]


def test_what_happened_before_is_told_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    main(["status", *ZOMBIE, "--at", "2026-11-20T12:29:13Z", "--group", "zombies", "--since", "30s"])
    happened = [line for line in capsys.readouterr().out.splitlines() if line.startswith("2026-")]
    moments = [line[:23] for line in happened]
    assert moments == sorted(moments)
    assert any("generation 9, match: workers were lost" in line for line in happened)
    assert any("duplicate_active opened" in line for line in happened)


def test_programs_read_the_same_as_json_and_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[Any] = []
    for output, read in (("json", json.loads), ("yaml", yaml.safe_load)):
        main(["status", *ZOMBIE, "--at", "2026-11-20T12:28:57Z", "--group", "zombies", "-o", output])
        told.append(read(capsys.readouterr().out))
    assert told[0] == told[1]
    (group,) = told[0]["groups"]
    assert (group["state"], group["answer"]["ends_ms"]) == ("waiting", LOST_MS + 9_000)


def test_the_last_disruptive_rebalance_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *ZOMBIE, "--at", "2026-11-20T12:28:57Z", "--group", "zombies"]) == DONE
    assert "zombies (zombie), generation 9, 2026-11-20 12:28:53 UTC" in capsys.readouterr().out


def test_where_nothing_was_disrupted_the_last_is_explained_and_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *STEADY, "--group", "steady"]) == DONE
    printed = capsys.readouterr().out
    assert "generation 5" in printed
    assert "No known rebalance of this group moved or stopped anything; this is the last." in printed


def test_all_of_a_time_are_explained_the_oldest_first(capsys: pytest.CaptureFixture[str]) -> None:
    moment = ["--at", "2026-11-20T12:29:20Z", "--since", "60s"]
    assert main(["explain", *ZOMBIE, "--group", "zombies", *moment, "-o", "json"]) == DONE
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["generation"] for one in told] == [7, 8, 9, 10, 11, 12]
    assert main(["explain", *STEADY, "--group", "steady", "--since", "1s"]) == CANNOT_TELL


def test_a_capture_is_at_rest_or_not(capsys: pytest.CaptureFixture[str]) -> None:
    rest = ["wait", *ZOMBIE, "--group", "zombies", "--stable", "10s"]
    assert main([*rest, "--at", "2026-11-20T12:30:00Z"]) == DONE
    assert main([*rest, "--at", "2026-11-20T12:28:57Z"]) == NOT_YET
    printed = capsys.readouterr()
    assert printed.out == "at rest for 10s: zombies\n"
    (sentence,) = printed.err.splitlines()
    assert "the scheduled delay holds back idle-a-1, idle-a-4, idle-b-2, until 2026-11-20 12:29:02 UTC" in sentence
    assert main([*rest, "--at", "2026-11-20T12:28:57Z", "-o", "json"]) == NOT_YET
    told = json.loads(capsys.readouterr().out)
    assert told["at_rest"] is False
    assert {"until_ms": LOST_MS + 9_000}.items() <= told["groups"][0]["waits_for"][0].items()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["status", *ZOMBIE, "--watch"], "--watch shows what goes on now; leave out --capture and --at"),
        (["status", *ZOMBIE, "--group", "zombie"], "no group 'zombie' is known"),
        (["status", *ZOMBIE, "--at", "noon"], "--at 'noon' is no moment"),
        (["status", *ZOMBIE, "--at", "2000-01-01T00:00:00Z"], "it holds no record of a group until that moment"),
        (["status", *ZOMBIE, "--since", "soon"], "--since 'soon' is no time"),
        (["status", "--url", "monitor:9471"], "the monitor's address is not a URL"),
        (["status", "--url", "http://127.0.0.1:1"], "no monitor answers at http://127.0.0.1:1 (connection refused)"),
        (["explain", *ZOMBIE], "say which group is meant"),
        (["explain", *ZOMBIE, "--group", "zombies", "--generation", "99"], "generation 99 of zombies is not among"),
        (["explain", *ZOMBIE, "--group", "zombies", "--generation", "9", "--since", "1m"], "give one of them"),
        (["wait", *ZOMBIE], "say which groups are waited for"),
        (["wait", "--group", "g", "--at", "2026-11-20T12:30:00Z"], "--at is for a capture"),
        (["wait", "--group", "g", "--stable", "1m", "--timeout", "30s"], "--timeout is shorter than --stable (1m)"),
        (["wait", "--group", "g", "--stable", "half an hour"], "--stable 'half an hour' is no time"),
    ],
    ids=lambda value: "" if isinstance(value, list) else value,
)
def test_a_mistake_is_one_sentence(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == BAD_INPUT
    printed = capsys.readouterr()
    assert (printed.out, len(printed.err.splitlines())) == ("", 1)
    assert sentence in printed.err


@dataclass(slots=True)
class Played:
    """A capture as it came: what is known moves on with the clock of whoever waits. `ready`: from when on the monitor
    has caught up."""

    now_s: float = 0.0
    begins_ms: int = LOST_MS - 10_000
    ready_s: float = 0.0
    told: list[str] = field(default_factory=list)
    _read: dict[float, CapturedGroups] = field(default_factory=dict)

    @property
    def source(self) -> CapturedGroups:
        if self.now_s not in self._read:
            self._read = {self.now_s: capture_of(ZOMBIE[1], self.begins_ms + round(self.now_s * 1000))}
        return self._read[self.now_s]

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class _Source:
    """Answers as the capture stands now."""

    def __init__(self, played: Played) -> None:
        self._played = played

    def readiness(self) -> CaughtUp:
        ready = self._played.now_s >= self._played.ready_s
        return CaughtUp(ready, {} if ready else {"zombie": "reads on"})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._played.source, name)


def waited(played: Played, *, stable_ms: int, timeout_ms: int) -> dict[str, list[str]]:
    question = Question(_Source(played), ("zombies",))
    watch = Watch(question, Demand(), stable_ms, clock=lambda: played.now_s, sleep=played.sleep)
    found = watch.until(timeout_ms, played.told.append)
    return {group: [one.sentence for one in waits] for group, waits in found.items()}


def test_each_change_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Not on a terminal: a table for each change; two states of the group within twelve seconds."""
    played = Played(begins_ms=LOST_MS - 5_000)

    def sleep(seconds: float) -> None:
        played.sleep(seconds)
        if played.now_s > 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch(Question(_Source(played)), "json", sleep)
    told = [json.loads(line)["groups"][0] for line in capsys.readouterr().out.splitlines()]
    assert [(one["generation"], one["state"]) for one in told] == [(8, "watched"), (9, "waiting")]


def test_a_monitor_that_does_not_answer_is_asked_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a terminal; it is said once, apart from what is piped on."""
    played = Played(begins_ms=LOST_MS - 5_000)
    asked = iter([True, False, False, True, True])

    def answers(question: Question) -> GroupsShown:
        if not next(asked):
            raise Unreachable("the page did not answer")
        return look(question)

    def sleep(seconds: float) -> None:
        played.sleep(0)

    monkeypatch.setattr("rebalance_monitor.streaming.cli.status.look", answers)
    with pytest.raises(StopIteration):
        watch(Question(_Source(played)), "json", sleep)
    printed = capsys.readouterr()
    assert printed.err == "the page did not answer; it is tried again\n"
    assert [json.loads(line)["groups"][0]["generation"] for line in printed.out.splitlines()] == [8, 8]


def test_one_screen_has_the_worst_groups(capsys: pytest.CaptureFixture[str]) -> None:
    shown = look(Question(capture_of(str(CAPTURES.parent / "captures-groups" / "java-classic"))))
    sums, table, more = screen(shown, 4)
    assert isinstance(table, Table)
    assert table.row_count == 4
    assert str(more) == "and 2 more, none of them worse; all: status | less"
    assert "6 groups" in str(sums)


def test_a_rebalance_that_begins_a_moment_later_is_not_missed() -> None:
    """Ten seconds after the command a worker is lost, and the group was calm until then."""
    played = Played()
    assert "zombies" in waited(played, stable_ms=12_000, timeout_ms=14_000)
    assert any("generation 8 has yet to last" in one for one in played.told)
    assert "the scheduled delay holds back" in played.told[-1]


def test_it_ends_when_the_group_has_come_to_rest() -> None:
    played = Played()
    assert waited(played, stable_ms=12_000, timeout_ms=90_000) == {}
    assert 41 <= played.now_s <= 47, "generation 12 came 32 s after the command, and 13 came 51 s after it"


def test_a_monitor_that_has_not_caught_up_is_waited_for() -> None:
    played = Played(begins_ms=LOST_MS + 60_000, ready_s=8.0)
    assert waited(played, stable_ms=2_000, timeout_ms=20_000) == {}
    assert played.now_s >= 8.0
    assert "the monitor has not caught up: reads on" in played.told[0]


def test_groups_that_are_not_there_are_not_at_rest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wait", *ZOMBIE, "--all-groups", "--cluster", "typo"]) == NOT_YET
    assert "cluster typo waits: no group is known" in capsys.readouterr().err
    question = Question(_Source(Played()), cluster="typo")
    assert Watch(question, Demand(), 0).look().keys() == {"cluster typo"}
    question = Question(_Source(Played()), ("orders",))
    (due,) = Watch(question, Demand(), 0).look()["orders"]
    assert due.sentence == "no generation of the group is known"


def test_a_group_without_members_is_waited_for_where_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    left = ["--capture", str(CAPTURES.parent / "captures-groups" / "java-classic")]
    assert main(["wait", *left, "--all-groups", "--stable", "1s"]) == DONE
    assert main(["wait", *left, "--group", "j-sticky", "--stable", "1s"]) == NOT_YET
    assert "the group is Empty" in capsys.readouterr().err


def test_a_connect_cluster_without_a_worker_is_not_at_rest(capsys: pytest.CaptureFixture[str]) -> None:
    """What its workers have left has no holder, named with `--group` or not."""
    assert main(["wait", *STEADY, "--all-groups", "--stable", "1s"]) == NOT_YET
    assert "steady waits: the group is Empty; nobody has 14 connectors and tasks\n" in capsys.readouterr().err


def test_a_cluster_that_cannot_be_read_is_not_caught_up_where_another_one_is() -> None:
    """`/readyz` of several clusters is 200 then, and names it."""
    told = CaughtUp(True, {"y": "no broker answers"})
    assert (told.of("x"), told.of("y")) == ("", "no broker answers")


@pytest.mark.parametrize(
    "words", [["why", "--all-groups"], ["why", "--at-once"], ["explain", "--all-groups"], ["cost"]]
)
def test_an_answer_about_a_cluster_that_nobody_knows_is_an_error(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """It was told that nothing rebalanced there."""
    assert main([*words, *ZOMBIE, "--cluster", "nope"]) == BAD_INPUT
    assert "no cluster 'nope' with groups is known; known are: zombie" in capsys.readouterr().err


def test_a_generation_is_explained_by_its_rebalance(capsys: pytest.CaptureFixture[str]) -> None:
    """Generation 6 was written three times more, each time a static member took its place back."""
    words = ["--capture", str(CAPTURES.parent / "captures-groups" / "java-classic"), "--group", "j-cooperative-sticky"]
    assert main(["explain", *words, "--generation", "6"]) == DONE
    assert "came to generation 6 with 4 members" in capsys.readouterr().out


class _Unread(_Source):
    """A monitor of two clusters, of which it cannot read y."""

    def readiness(self) -> CaughtUp:
        return CaughtUp(True, {"y": "no broker answers"})


class _New(_Unread):
    """No group is known yet."""

    def overview(self) -> list[GroupFacts]:
        return []


def test_of_a_cluster_that_was_not_read_a_group_may_be_missing() -> None:
    """No group of it is known, so none says so."""
    calm = Played(begins_ms=LOST_MS - 10_000)
    assert look(Question(_Source(calm))).code == DONE
    assert look(Question(_Unread(calm))).code == CANNOT_TELL
    assert look(Question(_New(calm))).code == CANNOT_TELL
    assert look(Question(_Unread(calm), ("zombies",))).code == DONE
    assert look(Question(_Unread(calm), cluster="zombie")).code == DONE
    assert look(Question(_New(calm), cluster="y")).code == CANNOT_TELL
    told = Watch(Question(_Unread(Played(begins_ms=LOST_MS + 60_000))), Demand(), 0).look()
    assert {group: [one.text for one in due] for group, due in told.items()} == {
        "cluster y": ["the monitor has not caught up: no broker answers"],
    }


class _Twice(_Source):
    """Two clusters have a group of this name."""

    def names(self) -> list[GroupName]:
        return [("zombie", "zombies"), ("other", "zombies"), ("other", "orders")]

    def known(self, key: GroupName, most: int = 0) -> GroupFacts:
        return self._played.source.known(("zombie", "zombies"))

    def jobs(self, key: GroupName) -> list[dict[str, Any]]:
        return []


def test_groups_of_one_name_in_several_clusters_are_two() -> None:
    told = Watch(Question(_Twice(Played())), Demand(), 60_000).look()
    assert list(told) == ["zombie/zombies", "other/zombies", "orders"]


def test_a_cluster_that_nobody_knows_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", *ZOMBIE, "--cluster", "nope"]) == BAD_INPUT
    told = capsys.readouterr()
    assert "no cluster 'nope' with groups is known; known are: zombie; correct --cluster" in told.err
    assert told.out == ""
    assert main(["status", *ZOMBIE, "--cluster", "zombie", "--at", "2026-11-20T12:28:57Z"]) == DONE


def test_a_connect_cluster_without_a_worker_is_never_fine() -> None:
    """Also before the incident opens that says so: its connectors stand still from the first moment on."""
    found = capture_of(STEADY[1])
    (known,) = found.overview()
    jobs = found.jobs((known.group["cluster"], known.group["group"]))
    assert (known.group["status"], known.group["incidents"], known.group["unassigned"]) == ("Empty", 0, len(jobs))
    assert known.group["state"] == "waiting"
