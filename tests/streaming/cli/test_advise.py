"""`advise` of captures of real groups: under its own assignor a history gives its own figures."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.exit_codes import BAD_INPUT, CANNOT_TELL, DONE
from rebalance_monitor.streaming.cli.group_sources import CapturedGroups, capture_of
from rebalance_monitor.streaming.stories import why
from rebalance_monitor.streaming.stories.whatif.connect_history import ConnectSetting, under_setting
from rebalance_monitor.streaming.stories.whatif.history import HistoryFigures, under_assignor
from tests.vector_files import VECTORS

CLASSIC = str(VECTORS / "captures-groups" / "java-classic")
DOCS = Path(__file__).parents[3] / "docs" / "advise.md"


@pytest.fixture(scope="module")
def classic() -> CapturedGroups:
    return capture_of(CLASSIC)


@pytest.mark.parametrize(("assignor", "rebalances"), [("range", 20), ("roundrobin", 12)])
def test_its_own_assignor_gives_the_records_again(classic: CapturedGroups, assignor: str, rebalances: int) -> None:
    answer = under_assignor(list(classic.generations(("java-classic", f"j-{assignor}"))), assignor)
    assert answer.courses == (answer.recorded,)
    assert answer.recorded.rebalances == rebalances


@pytest.mark.parametrize(("assignor", "rebalances"), [("sticky", 28), ("cooperative-sticky", 32)])
def test_what_depends_on_releases_or_on_time_is_a_range_around_the_records(
    classic: CapturedGroups, assignor: str, rebalances: int
) -> None:
    answer = under_assignor(list(classic.generations(("java-classic", f"j-{assignor}"))), assignor)
    assert answer.recorded.rebalances == rebalances
    for figure in ("rebalances", "moved", "stopped"):
        least, most = answer.range_of(figure)
        assert least <= getattr(answer.recorded, figure) <= most, figure


def test_every_rebalance_is_computed_or_left_out(classic: CapturedGroups) -> None:
    generations = list(classic.generations(("java-classic", "j-range")))
    answer = under_assignor(generations, "sticky", "3.9")
    pairs = sum(1 for one in generations[:-1] if not one.get("repeats"))
    assert answer.recorded.rebalances + sum(answer.left_out.values()) == pairs
    assert answer.recorded != HistoryFigures()
    assert answer.courses[0].moved < answer.recorded.moved


def test_partition_counts_may_be_of_a_later_sample(classic: CapturedGroups) -> None:
    """`capture` asks brokers for them once, at its end; that the assignor gives the recorded answer is looked at."""
    generations = list(classic.generations(("java-classic", "j-range")))
    inferred = {"grade": "explainable", "reason_kind": "counts_inferred"}
    later = [
        {**one, "verdict": {**one["verdict"], **inferred}} if one["verdict"]["grade"] == "match" else one
        for one in generations
    ]
    answer, known = under_assignor(later, "sticky", "3.9"), under_assignor(generations, "sticky", "3.9")
    assert (answer.recorded, answer.courses) == (known.recorded, known.courses)


@pytest.mark.parametrize(
    ("capture", "group", "rebalances", "delay_ms", "left_out"),
    [("sessioned-4.3.1", "connect-main", 32, 8_000, 0), ("compatible-2.8.2", "compat-282", 24, 7_000, 0),
     ("zombie", "zombies", 8, 9_000, 12)],
)  # fmt: skip
def test_its_own_delay_gives_the_records_of_connect_again(
    capture: str, group: str, rebalances: int, delay_ms: int, left_out: int
) -> None:
    generations = list(capture_of(str(VECTORS / "captures" / capture)).generations((capture, group)))
    answer = under_setting(generations, ConnectSetting(delay_ms=delay_ms))
    assert answer.courses == (answer.recorded,)
    assert (answer.recorded.rebalances, sum(answer.left_out.values())) == (rebalances, left_out)
    assert rebalances + left_out == len(generations) - 1


def test_a_hole_in_the_records_ends_a_stretch() -> None:
    key = ("sessioned-4.3.1", "connect-main")
    generations = list(capture_of(str(VECTORS / "captures" / key[0])).generations(key))
    holed = [one for one in generations if one["generation"] != 18]
    answer = under_setting(holed, ConnectSetting(delay_ms=8_000))
    assert answer.courses == (answer.recorded,)
    assert answer.recorded.rebalances + sum(answer.left_out.values()) == len(holed) - 1
    assert sum(answer.left_out.values()) > 0


def test_an_earlier_life_of_the_group_is_left_out_and_counted() -> None:
    key = ("sessioned-4.3.1", "connect-main")
    generations = list(capture_of(str(VECTORS / "captures" / key[0])).generations(key))
    again = [{**one, "incarnation": one["incarnation"] + 1} for one in generations]
    answer = under_setting([*again, *generations], ConnectSetting(delay_ms=8_000))
    assert answer.left_out == {"it came before the group was deleted or began anew": 33}
    assert answer.courses == (answer.recorded,)


def test_another_delay_is_waited_for_by_all_that_a_lost_worker_had() -> None:
    """In this capture six connectors and tasks waited, later four; the first worker was back after three seconds."""
    generations = list(
        capture_of(str(VECTORS / "captures" / "sessioned-4.3.1")).generations(("sessioned-4.3.1", "connect-main"))
    )
    recorded = under_setting(generations, ConnectSetting(delay_ms=8_000)).recorded
    assert recorded.idle_ms == (6 + 4) * 8_000
    (shorter,) = under_setting(generations, ConnectSetting(delay_ms=2_000)).courses
    assert shorter.idle_ms == (6 + 4) * 2_000
    assert shorter.moved > recorded.moved, "what went to others comes back"
    (none,) = under_setting(generations, ConnectSetting(delay_ms=0)).courses
    assert none.idle_ms == 0


def test_a_later_release_would_have_left_no_imbalance() -> None:
    """A real cluster of 2.8.2, whose assignor leaves workers uneven (KAFKA-12495); releases since 3.4 even them out."""
    generations = list(
        capture_of(str(VECTORS / "captures" / "compatible-2.8.2")).generations(("compatible-2.8.2", "compat-282"))
    )
    answer = under_setting(generations, ConnectSetting(release="4.3"))
    assert (answer.recorded.imbalanced, answer.left_out) == (4, {})
    assert [one.imbalanced for one in answer.courses] == [0]
    same = under_setting(generations, ConnectSetting(release="2.8.2"))
    assert same.courses == (same.recorded,)


def test_a_restarted_connector_may_ask_for_a_rebalance() -> None:
    """The eager protocol restarts connectors, and they may write their tasks' settings again: a rebalance with the same
    workers, connectors and tasks comes under another protocol, or not."""
    generations = list(capture_of(str(VECTORS / "captures" / "eager-2.8.2")).generations(("eager-2.8.2", "eager-282")))
    newest = generations[0]
    again = {**newest, "generation": newest["generation"] + 1, "at_ms": newest["at_ms"] + 1_000}
    asked = ConnectSetting(protocol="sessioned", release="4.3")
    (without,) = under_setting(generations, asked).courses
    answer = under_setting([again, *generations], asked)
    assert answer.left_out == {}
    assert answer.range_of("rebalances") == (without.rebalances, without.rebalances + 1)
    assert answer.range_of("moved") == (without.moved, without.moved)


def test_the_incremental_protocol_stops_less_than_the_eager_one() -> None:
    """Each eager rebalance stops everything at every worker that stays; by the records 26 of them stopped 418."""
    generations = list(capture_of(str(VECTORS / "captures" / "eager-2.8.2")).generations(("eager-2.8.2", "eager-282")))
    answer = under_setting(generations, ConnectSetting(protocol="sessioned", release="4.3"))
    assert (answer.recorded.rebalances, answer.left_out) == (len(generations) - 1, {})
    stopped = 0
    for before, now in pairwise(reversed(generations)):
        stays = {one["member_id"] for one in now["members"]}
        given = [one["assigned"] for one in before["members"] if one["member_id"] in stays]
        stopped += sum(len(one["connectors"]) + len(one["tasks"]) for one in given)
    assert answer.recorded.stopped == stopped
    assert all(one.stopped < stopped / 10 for one in answer.courses)
    assert [(one.moved, one.stopped) for one in answer.first] == [(0, 0)], "nobody moves when the protocol changes"


def test_another_protocol_is_played_by_the_release_that_the_records_show() -> None:
    """`sessioned` and `compatible` assign alike, so nothing changes where the leader's release is known."""
    key = ("sessioned-4.3.1", "connect-main")
    generations = list(capture_of(str(VECTORS / "captures" / key[0])).generations(key))
    answer = under_setting(generations, ConnectSetting(protocol="compatible"))
    assert answer.courses == (answer.recorded,)


def advised(capsys: pytest.CaptureFixture[str], *words: str, code: int = DONE) -> str:
    assert main(["advise", *words]) == code
    printed = capsys.readouterr()
    return printed.out + printed.err


MAIN = ("--group", "connect-main", "--capture", str(VECTORS / "captures" / "sessioned-4.3.1"))
RANGE = ("--group", "j-range", "--capture", CLASSIC)


def test_a_time_that_is_asked_about_is_not_rounded(capsys: pytest.CaptureFixture[str]) -> None:
    """90 s were told as 2 min."""
    assert "with a delay of 1 min 30 s instead of 8.0 s:" in advised(capsys, *MAIN, "--delay", "90s")
    assert "a session time-out of 1 min 30 s" in advised(capsys, *RANGE, "--static", "--session", "90s")


@pytest.mark.parametrize("words", [(*MAIN, "--delay", "25d"), (*RANGE, "--static", "--session", "40d")])
def test_a_time_that_kafka_does_not_take_is_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    """The diff would stop the worker or the client: both settings are of 32 bits."""
    assert "is longer than Kafka takes" in advised(capsys, *words, code=BAD_INPUT)


@pytest.mark.parametrize(("session", "said"), [("3s", True), ("45s", False), ("2h", True)])
def test_a_session_time_out_that_brokers_refuse_is_said(
    capsys: pytest.CaptureFixture[str], session: str, said: bool
) -> None:
    told = advised(capsys, *RANGE, "--static", "--session", session)
    assert ("group.min.session.timeout.ms (6 s by default)" in told) == said


def test_what_stays_as_it_is_is_no_change(capsys: pytest.CaptureFixture[str]) -> None:
    told = advised(capsys, *MAIN, "--protocol", "sessioned", "--delay", "8s")
    assert "with the protocol sessioned and a delay of 8.0 s:" in told
    assert "connect.protocol" not in told
    assert "max.delay.ms" not in told


def test_members_have_both_assignors_between_two_restarts(capsys: pytest.CaptureFixture[str]) -> None:
    """One that has the new assignor alone is refused as long as others have the old one alone."""
    told = advised(capsys, *RANGE, "--assignor", "cooperative-sticky", "-o", "json")
    first, old_and_new, second, removed, new = json.loads(told)["answer"]["diff"]
    assert first == "consumer configuration, first rolling restart:"
    assert second == "consumer configuration, second rolling restart:"
    assert old_and_new.endswith("CooperativeStickyAssignor,org.apache.kafka.clients.consumer.RangeAssignor")
    assert (removed[0], removed[1:], new) == ("-", old_and_new[1:], f"+{old_and_new[1:].partition(',')[0]}")
    same = advised(capsys, *RANGE, "--assignor", "range", "--release", "3.9", "-o", "json")
    assert json.loads(same)["answer"]["diff"] == []


@pytest.mark.parametrize(
    ("capture", "group", "because"),
    [("streams-classic-4.3.1", "app-4.3.1", "Kafka Streams has assignors of its own"),
     ("kafkajs", "kjs-equal", "16 times: the group's own assignor is none of range, roundrobin, sticky")],
)  # fmt: skip
def test_why_an_assignor_is_not_computed(
    capsys: pytest.CaptureFixture[str], capture: str, group: str, because: str
) -> None:
    words = ("--group", group, "--assignor", "range", "--capture", str(VECTORS / "captures-groups" / capture))
    assert because in advised(capsys, *words, code=CANNOT_TELL)


def test_threads_of_streams_gain_tasks_and_copies(capsys: pytest.CaptureFixture[str]) -> None:
    capture = str(VECTORS / "captures-groups" / "streams-classic-4.3.1")
    told = advised(capsys, "--group", "app-4.3.1", "--static", "--session", "1m", "--capture", capture)
    assert "tasks and copies that threads gained: 178 instead of 399" in told


def test_nothing_is_said_of_the_next_rebalance_of_workers_that_are_gone(capsys: pytest.CaptureFixture[str]) -> None:
    """It would give all to those that come: it was told that nothing moves."""
    assert "the first rebalance after" not in advised(capsys, *MAIN, "--delay", "2s")
    there = advised(capsys, *MAIN, "--delay", "2s", "--at", "2026-11-20T12:09:15Z")
    assert "the first rebalance after the change moves 0 and stops 0" in there


def test_what_is_not_looked_at_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "left out" not in advised(capsys, *MAIN, "--delay", "8s")
    monkeypatch.setattr(why, "MOST_REBALANCES", 20)
    assert "left out: all before the newest 20 generations" in advised(capsys, *MAIN, "--delay", "8s")


EXAMPLES = [line.split()[2:] for line in DOCS.read_text().splitlines() if line.startswith("    $ rebalance-monitor")]


@pytest.mark.parametrize("words", EXAMPLES, ids=lambda words: words[2])
def test_the_examples_of_the_page_are_what_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(DOCS.parents[1])
    lines = DOCS.read_text().splitlines()
    at = lines.index(f"    $ rebalance-monitor {' '.join(words)}")
    assert main(words) == DONE
    printed = [f"    {line}" for line in capsys.readouterr().out.splitlines()]
    assert lines[at + 1 : at + 1 + len(printed)] == printed


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["j-range", "--assignor", "range", "--delay", "1m"], BAD_INPUT, "give one of both"),
        (["j-range", "--assignor", "fair"], BAD_INPUT, "'fair' is no assignor of consumers; take one of range"),
        (
            ["j-range", "--assignor", "sticky", "--release", "x"],
            BAD_INPUT,
            "'x' is no release that is known; write one such",
        ),
        (
            ["j-range", "--assignor", "range", "--release", "9.9"],
            BAD_INPUT,
            "'9.9' is no release of Kafka that is known",
        ),
        (["j-range", "--assignor", "sticky", "--release", "3.10"], BAD_INPUT, "3.0 to 3.9, 4.0 to 4.3"),
        (["j-range", "--assignor", "range", "--release", "3.4-rc1"], BAD_INPUT, "is no release that is known"),
        (["j-range", "--assignor", "sticky", "--release", "2.2"], BAD_INPUT, "Kafka 2.2 are not known, only those"),
        (
            ["j-range", "--assignor", "cooperative-sticky", "--release", "2.3"],
            CANNOT_TELL,
            "the release does not have it",
        ),
        (["j-range", "--assignor", "sticky", "--since", "1s"], CANNOT_TELL, "cannot tell: no "),
        (["j-range", "--static", "--since", "1s"], CANNOT_TELL, "cannot tell: no generation"),
        (["j-range", "--static", "--assignor", "sticky"], BAD_INPUT, "--static is answered by itself"),
        (["j-range", "--steps"], BAD_INPUT, "--steps is of --assignor, --release or --protocol"),
        (["j-range", "--static", "--steps"], BAD_INPUT, "give one of them, too"),
        (["j-range", "--assignor", "sticky", "--workers", "3"], BAD_INPUT, "give one of both"),
        (
            ["j-range", "--workers", "3"],
            CANNOT_TELL,
            "only another assignor or number of members, or static members, can be asked about",
        ),
        (["j-range", "--members", "3", "--delay", "1m"], BAD_INPUT, "give one of both"),
        (["j-range", "--members", "3", "--static"], BAD_INPUT, "--static is answered by itself"),
        (["j-range", "--members", "0"], BAD_INPUT, "0 is no number of members that is computed; take one from 1 to"),
        (["j-range", "--standbys", "1"], CANNOT_TELL, "only Kafka Streams with the classic protocol"),
        (["j-range", "--standbys", "1", "--members", "3"], BAD_INPUT, "are of Streams; leave the other settings out"),
        (["j-range", "--standbys", "-1"], BAD_INPUT, "-1 is no number of standbys that is computed; take one from 0"),
        (["j-range", "--warm-ups", "0"], BAD_INPUT, "Kafka takes no max.warmup.replicas below 1"),
        (["j-range", "--session", "2m"], BAD_INPUT, "--session is of static members; give --static, too"),
        (["j-range", "--static", "--session", "x"], BAD_INPUT, "--session 'x' is no time"),
    ],
)
def test_what_cannot_be_answered(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, sentence: str
) -> None:
    assert main(["advise", "--capture", CLASSIC, "--group", *words]) == code
    printed = capsys.readouterr()
    assert sentence in printed.out + printed.err


@pytest.mark.parametrize(
    ("capture", "group", "because"),
    [("captures/eager-2.8.2", "eager-282", "workers wait for nobody"),
     ("captures-groups/java-classic", "j-range", "only another assignor or number of members, or static members")],
)  # fmt: skip
def test_who_waits_for_nobody_has_no_other_delay(
    capsys: pytest.CaptureFixture[str], capture: str, group: str, because: str
) -> None:
    assert main(["advise", "--group", group, "--delay", "1m", "--capture", str(VECTORS / capture)]) == CANNOT_TELL
    assert because in capsys.readouterr().out


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["--release", "x"], "'x' is no release that is known"),
        (["--protocol", "static"], "take one of compatible"),
        (["--release", "9.9"], "'9.9' is no release of Kafka that is known; known are 2.0 to 2.8, 3.0"),
        (["--release", "2.9"], "2.0 to 2.8"),
        (["--release", "2.2"], "Kafka 2.2 has no incremental Connect assignor"),
    ],
)
def test_no_such_setting_of_connect(capsys: pytest.CaptureFixture[str], asked: list[str], sentence: str) -> None:
    capture = str(VECTORS / "captures" / "sessioned-4.3.1")
    assert main(["advise", "--group", "connect-main", "--capture", capture, *asked]) == BAD_INPUT
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("capture", "group", "code", "sentence"),
    [
        ("captures-groups/java-classic", "j-upgrade", DONE, "would have been saved with static members."),
        ("captures-groups/kip848-a", "k-range", CANNOT_TELL, "Nothing is computed for groups of this kind"),
    ],
)
def test_without_a_setting_those_that_need_no_value_are_told(
    capsys: pytest.CaptureFixture[str], capture: str, group: str, code: int, sentence: str
) -> None:
    words = ("--group", group, "--capture", str(VECTORS / capture))
    assert sentence in advised(capsys, *words, code=code)


def test_a_connect_group_has_no_assignor_of_consumers(capsys: pytest.CaptureFixture[str]) -> None:
    capture = str(VECTORS / "captures" / "zombie")
    asked = ["advise", "--group", "zombies", "--assignor", "range", "--capture", capture, "-o", "json"]
    assert main(asked) == CANNOT_TELL
    told = json.loads(capsys.readouterr().out)
    assert told["answer"] is None
    assert told["why_not"].startswith("only consumer groups of the classic protocol")
