"""A start beside a broker that starts, too: what may pass is waited for, what will not ends the job."""

from collections.abc import Mapping
from typing import Any

import pytest

from rebalance_monitor.streaming.config.clusters import ClusterSection
from rebalance_monitor.streaming.spark.ends import AccessRefused, ClientRefused, ClusterError, KafkaView
from rebalance_monitor.streaming.spark.failures import CannotRun
from rebalance_monitor.streaming.spark.first_answer import cluster_id
from rebalance_monitor.streaming.spark.stopping import Stop

SECTION = ClusterSection(name="own", bootstrap_servers="127.0.0.1:1")


class Cluster:
    """Answers in turn; a signal comes with the last question if there is no answer for it."""

    def __init__(self, stop: Stop, *answers: str | Exception) -> None:
        self.stop, self.answers = stop, list(answers)

    def __call__(self, client: Mapping[str, str]) -> str:
        if len(self.answers) == 1 and isinstance(self.answers[0], ClusterError):
            self.stop.signals.append(15)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def asked(*answers: str | Exception) -> tuple[str | None, list[str | None]]:
    stop, said = Stop(lambda _: None), list[str | None]()
    found = cluster_id(SECTION, lambda _, problem: said.append(problem), stop, Cluster(stop, *answers))
    return found, said


def test_what_may_pass_is_waited_for_and_said() -> None:
    found, said = asked(ClusterError("Connection refused"), ClusterError("Timed out"), "the-id")
    assert found == "the-id"
    assert said == [
        "no broker answers at 127.0.0.1:1 (Connection refused); is clusters[].bootstrap_servers right?",
        "no broker answers at 127.0.0.1:1 (Timed out); is clusters[].bootstrap_servers right?",
        None,
    ]


def test_a_signal_ends_the_wait() -> None:
    assert asked(ClusterError("Connection refused"))[0] is None


@pytest.mark.parametrize(
    ("why", "sentence"),
    [
        (AccessRefused("Authentication failed"), r"own: 127.0.0.1:1 refuses this client \(Authentication failed\)"),
        (ClientRefused("No such configuration property"), r"clusters\[\].client is not accepted"),
    ],
)
def test_what_will_not_pass_by_itself_ends_the_job(why: Exception, sentence: str) -> None:
    with pytest.raises(CannotRun, match=sentence):
        asked(why)


def test_a_closed_port_is_no_refusal() -> None:
    with pytest.raises(ClusterError) as raised:
        KafkaView({"bootstrap.servers": "127.0.0.1:1"}).cluster_id()
    assert type(raised.value) is ClusterError


def test_a_refused_user_or_certificate_is_one() -> None:
    from confluent_kafka import KafkaError

    for code in (KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED):
        view: Any = KafkaView({"bootstrap.servers": "127.0.0.1:1"})
        view._noted.note(KafkaError(code))
        with pytest.raises(AccessRefused):
            view.cluster_id()
