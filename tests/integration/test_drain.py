"""The benchmark's drain on a small topic: every generation written before the job started has a row afterwards."""

import shutil
from collections.abc import Iterator

import pytest

from lab import bench_drain, bench_topic, postgres
from lab.paths import BUILD
from lab.process import Lab, Progress

pytestmark = pytest.mark.integration
FOLDER = BUILD / "small-drain"
RECORDS = 20_000


@pytest.fixture
def lab() -> Iterator[Lab]:
    postgres.stop_server(FOLDER / "postgres")
    shutil.rmtree(FOLDER, ignore_errors=True)
    with Lab(FOLDER, Progress()) as made:
        yield made


def test_a_prepared_topic_is_drained_to_its_last_record(lab: Lab) -> None:
    found = bench_drain.drain(lab, RECORDS)
    assert found.records == RECORDS
    assert found.generations == bench_topic.generations(RECORDS)
    assert found.batches >= 1
    assert found.largest_batch <= RECORDS
