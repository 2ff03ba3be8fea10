"""In which order brokers are asked. The client's library is the test's."""

from types import SimpleNamespace
from typing import Any

import pytest

from rebalance_monitor.streaming.polling import asking
from rebalance_monitor.streaming.polling.asking import KafkaTopics


class AfterADeath:
    """A client that goes on to ask a controller that is gone, until a list of topics names another."""

    def __init__(self) -> None:
        self._knows_controller = False

    def list_topics(self, timeout: float) -> Any:
        self._knows_controller = True
        return SimpleNamespace(topics={})

    def describe_cluster(self, request_timeout: float) -> Any:
        return SimpleNamespace(result=self._described)

    def _described(self, timeout: float) -> Any:
        if not self._knows_controller:
            raise TimeoutError
        return SimpleNamespace(nodes=[SimpleNamespace(id=1, rack="a"), SimpleNamespace(id=2, rack=None)])


def test_a_dead_controller_keeps_no_sample_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "admin_of", lambda client, part: AfterADeath())
    assert KafkaTopics({})().racks == {1: "a"}
