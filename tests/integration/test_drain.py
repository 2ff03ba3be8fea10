"""The benchmark's drain on a small topic: every generation written before the job started has a row afterwards."""

from collections.abc import Iterator

import pytest

from lab.bench import drain, topic
from lab.bench.prepared import MostlyCommits
from lab.process import Lab, Progress
from tests.integration.watched import own_lab

pytestmark = pytest.mark.integration
RECORDS = 20_000


@pytest.fixture
def lab() -> Iterator[Lab]:
    with own_lab("small-drain", Progress()) as made:
        yield made


def test_a_prepared_topic_is_drained_to_its_last_record(lab: Lab) -> None:
    found = drain.drain(lab, MostlyCommits(RECORDS))
    assert found.records == RECORDS
    assert found.generations == topic.generations(RECORDS)
    assert found.batches >= 1
    assert found.largest_batch <= RECORDS
