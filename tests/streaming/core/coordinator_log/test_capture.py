"""A real broker's records and its log: each rebalance of each group is told with its reason, as docs/coordinator-log.md
says."""

import re
import shlex
import textwrap

import pytest
import yaml

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.config.clusters import ClusterSection, CoordinatorLogSection
from tests.streaming.core.coordinator_log.lines import LOGS

ROOT = LOGS.parents[2]
PAGE = (ROOT / "docs" / "coordinator-log.md").read_text(encoding="utf-8")
BLOCKS = [textwrap.dedent(block).strip() for block in re.findall(r"(?:^    .*\n)+", PAGE, flags=re.M)]
DONE = {
    "orders in state Empty (reason: x)": [
        "member_joined a", "member_joined b", "member_left b", "member_joined d e", "member_lost d e",
        "member_rejoined a", "member_joined f", "member_rejoined f", "member_left f", "member_joined e",
        "member_left e",
    ],
    "java readers": ["member_joined j1", "member_joined j2", "member_left j2", "member_joined j3", "member_lost j3"],
}  # fmt: skip


def test_every_rebalance_is_told_with_what_was_done() -> None:
    found = capture_of(str(LOGS / "capture"), logs=[str(LOGS / "4.3.1.log")])
    ((cluster, _), *_) = found.names()
    for group, done in DONE.items():
        first = [one["cause"][0] for one in found.generations((cluster, group))][::-1]
        assert [f"{one['kind']} {one['subjects'][0]['id'][:-37]}" for one in first] == done
        assert {one["certainty"] for one in first} == {"certain"}
        assert all(one["evidence"][0]["text"].startswith("the coordinator says: ") for one in first)
    last = next(iter(found.generations((cluster, "java readers"))))
    assert len(last["cause"]) == 1, "what the records alone show of it says no more"


def test_a_static_member_that_is_lost_goes_by_its_instance() -> None:
    found = capture_of(str(LOGS / "capture"), logs=[str(LOGS / "4.3.1.log")])
    ((cluster, _), *_) = found.names()
    told = [
        (one["generation"], cause["kind"], [subject["id"] for subject in cause["subjects"]])
        for one in found.generations((cluster, "static"))
        for cause in one["cause"]
    ]
    assert (3, "member_lost", ["i-2"]) in told
    assert (2, "member_replaced", ["i-2"]) in told, "without a rebalance, so the coordinator says nothing of it"


def test_the_ranking_says_no_more_than_the_coordinator() -> None:
    found = capture_of(str(LOGS / "capture"), logs=[str(LOGS / "4.3.1.log")])
    ((cluster, _), *_) = found.names()
    for group in DONE:
        told = found.why((cluster, group), 0)
        assert told["cannot_tell"] == 0
        (lost,) = [one for one in told["reasons"] if one["code"] == "member_lost"]
        assert (lost["count"], lost["certainty"]) == (1, "certain")
        assert lost["text"].startswith("members were removed because they fell silent or were late")


def test_the_page_s_commands_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (command,) = [block for block in BLOCKS if block.startswith("rebalance-monitor ")]
    assert main(shlex.split(command)[1:]) == 0
    assert "members were removed because they fell silent or were late: j3-" in capsys.readouterr().out
    status = shlex.split(command)[1:]
    assert main(["status", *status[1:]]) == 0
    assert main(["status", "--group", "x", "--coordinator-log", "x"]) == 2
    assert "--coordinator-log is of a capture" in capsys.readouterr().err


def test_the_page_s_configuration_is_sound() -> None:
    (text,) = [block for block in BLOCKS if block.startswith("clusters:")]
    (section,) = [ClusterSection(**one) for one in yaml.safe_load(text)["clusters"]]
    assert section.coordinator_log.files == ("/var/log/kafka/*/server.log*",)
    (text,) = [block for block in BLOCKS if block.startswith("coordinator_log:")]
    assert CoordinatorLogSection(**yaml.safe_load(text)["coordinator_log"]).topic == "kafka-logs"
