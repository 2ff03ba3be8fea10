"""Lives of groups that Kafka's own coordinator wrote: it is never accused, and what it computes is found to be so."""

from base64 import b64decode
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rebalance_monitor.streaming.core.cluster.knowledge import knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.lifecycles import decode_offsets_record
from rebalance_monitor.streaming.core.model.findings import Incident
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from tests.streaming.core.rules.builders import generations
from tests.streaming.core.rules.epochs import Epochs
from tests.streaming.folded_group import FoldedGroup
from tests.vector_files import VECTORS, json_lines

Life = Mapping[str, Any]
LIVES = list(json_lines(VECTORS / "consumer/coordinator-lives.jsonl.gz"))
AFTERWARDS_MS = {True: 900_000, False: 1_000}
"""So long nothing more comes: of a life that was not cut off, until all time-outs have passed."""


def rows_of(life: Life) -> list[Row]:
    found = []
    for offset, (at_ms, key, value) in enumerate(life["records"]):
        body = None if value is None else b64decode(value)
        row = decode_offsets_record("__consumer_offsets", 0, offset, at_ms, b64decode(key), body)
        assert row is not None
        found.append(row)
    return found


def samples_of(life: Life, until_ms: int) -> list[TopicMetadata]:
    return [
        TopicMetadata(
            at_ms,
            {name: (frozenset[str](),) * count for name, (_, count) in topics.items()},
            {name: b64decode(topic) for name, (topic, _) in topics.items()},
        )
        for at_ms, topics in life["samples"]
        if at_ms <= until_ms
    ]


def judged(life: Life, batches: Sequence[Sequence[Row]], later_ms: int = 0) -> list[Result]:
    """What the fold says, batch by batch, each with the samples until then or so much later, and of the time behind
    them."""
    group = FoldedGroup(ClusterSettings(name="c"), life["group"])
    end_ms = batches[-1][-1].timestamp_ms + AFTERWARDS_MS[life["whole"]]
    ticks = [(batch, batch[-1].timestamp_ms + 50) for batch in batches] + [((), end_ms)]
    for rows, now_ms in ticks:
        group.knowledge = knowledge_of(samples_of(life, now_ms + later_ms))
        group.fold(rows, now_ms)
    return group.results


@pytest.mark.parametrize("life", LIVES, ids=lambda life: f"{life['life']}, seed {life['seed']}")
def test_kafkas_coordinator_is_not_accused(life: Life) -> None:
    rows = rows_of(life)
    grades = Counter[Grade]()
    for size, later_ms in ((1, 0), (7, 0), (len(rows), AFTERWARDS_MS[True])):
        results = judged(life, [rows[at : at + size] for at in range(0, len(rows), size)], later_ms)
        assert [one for one in results if isinstance(one, Incident)] == []
        grades.update(one.verdict.grade for one in results if isinstance(one, Generation))
    assert grades[Grade.UNEXPLAINED] == 0
    assert grades[Grade.MATCH] + grades[Grade.EXPLAINABLE] > grades[Grade.NOT_JUDGED]


@pytest.mark.parametrize(("samples", "grade"), [((2,), Grade.EXPLAINABLE), ((2, 2), Grade.UNEXPLAINED)])
def test_a_topic_that_samples_show_before_and_after_was_known_meanwhile(samples: tuple[int, ...], grade: Grade) -> None:
    """Nobody is given it: its deletion explains that, unless a later sample shows it still."""
    story = Epochs().sampled(*samples).after(30_000)
    story.member("a")
    story.epoch(1)
    story.target(1, a="")
    story.holds("a", 1, "")
    (target,) = generations(story.after().until(1_000).fold())
    assert target.verdict.grade is grade
