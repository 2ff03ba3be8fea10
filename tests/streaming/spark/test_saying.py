"""A process that only has stderr says there what its lines hold; whoever started it relays them."""

import logging
from collections.abc import Iterator

import pytest

from rebalance_monitor.streaming.spark.saying import say_on_stderr


@pytest.fixture
def log() -> logging.Logger:
    return logging.getLogger("rebalance_monitor.parts")


@pytest.fixture(autouse=True)
def _handlers_as_before() -> Iterator[None]:
    ours = logging.getLogger("rebalance_monitor")
    before = list(ours.handlers)
    yield
    ours.handlers[:] = before


def test_a_line_has_its_fields(log: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    say_on_stderr()
    say_on_stderr()
    log.error("part_failed", extra={"fields": {"part": "sampler", "stack": ["sampling.py:1 step"]}})
    log.warning("part_goes_on")
    assert capsys.readouterr().err == (
        'part_failed {"part": "sampler", "stack": ["sampling.py:1 step"]}\npart_goes_on\n'
    ), "once each"
