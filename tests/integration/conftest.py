"""What several integration tests share: the stage of one file, a job, and one Spark session with workers of its own.

Files whose tests take `live` or `spark` run in one process (`lab/tiers.py`): these are started once for all of them.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from rebalance_monitor.streaming.config.sections import SparkSection
from tests.integration.watched import Live, Watched, own_lab


@pytest.fixture(scope="module")
def watched(request: pytest.FixtureRequest) -> Iterator[Watched]:
    """Broker and PostgreSQL for the tests of one file, in a folder of the file's name."""
    with own_lab(request.module.__name__.rpartition("test_")[2].replace("_", "-")) as lab:
        yield Watched(lab)


@pytest.fixture(scope="session")
def live() -> Iterator[Live]:
    """For tests that leave the job running and look at groups of their own."""
    with own_lab("live") as lab:
        watched = Watched(lab)
        with watched.job("live", polling={"topics_every_ms": 1_000}) as job:
            watched.wait_ready(job)
            yield Live(watched, job)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from rebalance_monitor.streaming.spark.session import start_session, stop_session

    before = dict(os.environ)
    scratch = tmp_path_factory.mktemp("spark")
    session = start_session(SparkSection(driver_memory="700m"), scratch, scratch)
    try:
        yield session
    finally:
        stop_session(session)
        os.environ.clear()
        os.environ.update(before)
