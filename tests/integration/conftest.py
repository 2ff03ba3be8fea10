"""What several integration tests share: the stage of one file, and one Spark session with workers of its own."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from rebalance_monitor.streaming.config.sections import SparkSection
from tests.integration.watched import Watched, own_lab


@pytest.fixture(scope="module")
def watched(request: pytest.FixtureRequest) -> Iterator[Watched]:
    """Broker and PostgreSQL for the tests of one file, in a folder of the file's name."""
    with own_lab(request.module.__name__.rpartition("test_")[2].replace("_", "-")) as lab:
        yield Watched(lab)


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
