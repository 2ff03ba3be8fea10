"""The benchmark's own sums and its prepared topic: a figure is worth no more than what computes it."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.bench import report, topic
from lab.bench.cost import cpu_s, memory_mib, tree
from lab.bench.observe import latencies_ms, percentile
from rebalance_monitor.schemas.offsets_topic import decode_group_metadata, decode_key
from rebalance_monitor.schemas.outcomes import Decoded


@given(st.lists(st.floats(0, 1e6), min_size=1), st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_a_percentile_is_a_value_that_the_share_does_not_exceed(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    assert sum(value < found for value in values) < share * len(values)


def test_a_latency_needs_both_ends() -> None:
    assert latencies_ms({("g", 1): 130.0, ("g", 2): 250.0}, {("g", 1): 100, ("g", 3): 7}) == [30.0]


def test_the_prepared_topic_holds_what_it_says() -> None:
    count = 5_050
    made = list(topic.records(count, 10, 1_760_000_000_000))
    assert made == list(topic.records(count, 10, 1_760_000_000_000))
    last: dict[str, int] = {}
    place: dict[str, int] = {}
    for partition, key, value in made:
        decoded = decode_key(key)
        assert isinstance(decoded, Decoded)
        assert decoded.remaining == 0
        group = decoded.value.group
        assert place.setdefault(group, partition) == partition
        if decoded.value.name == "GroupMetadata":
            metadata = decode_group_metadata(value)
            assert isinstance(metadata, Decoded)
            assert metadata.remaining == 0
            assert len(metadata.value.members) == topic.MEMBERS
            assert metadata.value.generation == last.get(group, 0) + 1
            last[group] = metadata.value.generation
        else:
            assert decoded.value.name == "OffsetCommit"
    assert sum(last.values()) == topic.generations(count) == 51


@pytest.mark.parametrize(
    ("text", "wanted"), [("", 0), ("a", 97), ("orders", -1008770331), ("consumer-0001", -334875784)]
)
def test_groups_lie_where_kafka_puts_them(text: str, wanted: int) -> None:
    assert topic.java_hash(text) == wanted


def test_an_aim_is_missed_at_its_bound() -> None:
    aims = {one.name: one.aim for one in report.FIGURES if one.aim is not None}
    assert report.missed(aims) == list(aims)
    assert report.missed({name: aim - 0.1 for name, aim in aims.items()}) == []
    assert len({one.name for one in report.FIGURES}) == len(report.FIGURES)


def test_children_that_have_ended_count() -> None:
    burn = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    shell = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}]); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", shell], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert cpu_s(process.pid) >= 0.3
        assert memory_mib(process.pid) > 1
        assert process.pid in tree(os.getpid())
        process.communicate("\n")
