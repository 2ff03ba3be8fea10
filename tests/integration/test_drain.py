"""The benchmark's drains on small topics: every generation written before the job started has a row afterwards."""

from collections.abc import Iterator

import pytest

from lab.bench import drain, topic
from lab.bench.generations.load import Load
from lab.bench.generations.played import Size
from lab.bench.job import JUDGED
from lab.bench.prepared import MostlyCommits, TrueGenerations
from lab.process import Lab, Progress
from tests.integration.watched import own_lab

pytestmark = pytest.mark.integration
RECORDS = 20_000


@pytest.fixture
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    with own_lab(f"small-drain-{request.node.name[5:20]}", Progress()) as made:
        yield made


def test_a_prepared_topic_is_drained_to_its_last_record(lab: Lab) -> None:
    found = drain.drain(lab, MostlyCommits(RECORDS))
    assert found.records == RECORDS
    assert found.generations == topic.generations(RECORDS)
    assert found.batches >= 1
    assert found.largest_batch <= RECORDS


def test_true_generations_are_stored_as_replay_judges_them_and_the_driver_does_little_of_it(lab: Lab) -> None:
    found = drain.drain(lab, TrueGenerations(Load(Size(generations=1_500, groups=60, members=8), JUDGED)))
    assert found.generations == 1_500
    assert found.driver_cpu_s < found.job_cpu_s / 4
