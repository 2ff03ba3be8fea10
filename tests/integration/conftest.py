"""What several integration tests share: one Spark session of the test process, with worker processes of its own."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from streaming.config.spark import SparkSection


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from streaming.spark.session import start_session, stop_session

    before = dict(os.environ)
    session = start_session(SparkSection(driver_memory="700m"), tmp_path_factory.mktemp("spark"))
    try:
        yield session
    finally:
        stop_session(session)
        os.environ.clear()
        os.environ.update(before)
