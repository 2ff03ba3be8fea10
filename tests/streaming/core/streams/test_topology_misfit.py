"""A configured topology that is not the application's: one finding, and verdicts without it."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.model.results import Grade, Severity
from rebalance_monitor.streaming.core.replay import replay
from rebalance_monitor.streaming.core.streams.described import misfit
from rebalance_monitor.streaming.core.streams.topology import SubtopologySeen
from tests.streaming.core.rules.builders import generations, incidents
from tests.streaming.core.rules.cases_streams_record import KNOWN, TEXT
from tests.streaming.core.rules.streams import Thread, group
from tests.streaming.core.streams.test_streams_capture import CAPTURE

HEAD = "Topologies:\n   Sub-topology: 0\n"


@pytest.mark.parametrize(
    ("text", "topic", "fits"),
    [
        ("    Source: s (topics: [in])\n", "in", True),
        ("    Source: s (topics: [in])\n", "other", False),
        ("    Source: s (topics: [by-key-repartition])\n", "app-by-key-repartition", True),
        ("    Source: s (topics: [KTABLE-FK-JOIN-0000000006-topic])\n", "app-KTABLE-FK-JOIN-0000000006-topic", True),
        ("    Source: s (topics: [by-key-repartition])\n", "b-by-key-repartition", False),
        ("    Source: s (topics: in-.*)\n", "in-7", True),
        ("    Source: s (topics: in-.*)\n", "out", False),
        ("    Source: s (topics: \\p{Lower}+)\n", "in", True),
    ],
)
def test_topics_of_a_text_are_those_that_records_show(text: str, topic: str, fits: bool) -> None:
    wrong = misfit(HEAD + text, "app", (SubtopologySeen(number=0, topics={topic: 2}),))
    assert (wrong is None) is fits
    assert fits or f"sub-topology 0 reads {topic}" in str(wrong)


def test_a_text_lacks_a_sub_topology_that_records_show() -> None:
    assert misfit(TEXT, "app", (SubtopologySeen(number=7, topics={"t7": 1}),)) == (
        "records show tasks of sub-topology 7, the text has none"
    )
    assert misfit(TEXT, "app", (SubtopologySeen(number=0, name="named", topics={"t0": 1}),)) is not None
    assert misfit("no topology", "app", (SubtopologySeen(number=7, topics={"t7": 1}),)) is None


def test_a_text_that_does_not_fit_is_left_aside() -> None:
    """It says that nothing has state: by it, no leader gives these copies."""
    stateless = HEAD + "    Source: s (topics: [orders])\n"
    threads = (
        Thread(id="a1", active="0_0", standby="0_1", sums="0_0:-2"),
        Thread(id="b1", active="0_1", standby="0_0", sums="0_1:-2"),
    )
    results = group(threads, known=replace(KNOWN, standbys=1, topology=stateless)).fold()
    (generation,) = generations(results)
    assert generation.verdict.grade in (Grade.MATCH, Grade.EXPLAINABLE)
    (opened,) = incidents(results)
    assert (opened.code, opened.severity) == ("STREAMS-S33", Severity.LOW)
    assert "sub-topology 0 reads t0" in opened.message


def test_the_text_of_a_real_application_fits_its_records() -> None:
    told = replay(records_of(CAPTURE), settings_of(CAPTURE)).objects
    assert not [one for one in told if one.get("code") == "STREAMS-S33"]
