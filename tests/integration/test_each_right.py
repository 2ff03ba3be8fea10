"""Exactly the declared rights, on a cluster that denies everything else: enough, and each one is missed by name.

SCRAM over TLS; and certificates of clients over TLS, as PEM files and as PKCS#12.
"""

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lab.cluster import config_topic
from lab.ports import free_ports
from rebalance_monitor.streaming.cli.config_connect import answers
from rebalance_monitor.streaming.config.rights import (
    BROKER_LOGS,
    CLUSTER,
    CONFIGS,
    GROUPS,
    LOG,
    STATUSES,
    TOPICS,
    Right,
    rights_of,
)
from rebalance_monitor.streaming.config.settings import Settings
from tests.integration.secured import Secured, secured
from tests.integration.watched import TOPIC
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.integration
GROUP, CONFIG_TOPIC, STATUS_TOPIC = "sinks", "sinks-configs", "sinks-status"
FUTURE_TOPIC, LINES_TOPIC = "sinks-of-tomorrow", "kafka-logs"
LINES = {"topic": LINES_TOPIC}
USER, PASSWORD = "monitor", "open sesame"
UNREADABLE, UNSEEN = "this user may not read it; grant it Read", "this user may not describe it; grant it Read"
OR_POLL = "; where nobody can grant that, set clusters[].source: poll (docs/sampled.md)"
MISSED = {
    CLUSTER: ("states of groups in own", "this user may not Describe the cluster, so brokers leave out groups"),
    GROUPS: (f"group {GROUP}", "this user may not describe it, so its state is not known; grant it Describe"),
    LOG: ("topic __consumer_offsets", UNREADABLE + OR_POLL),
    CONFIGS: (f"topic {CONFIG_TOPIC}", UNREADABLE),
    STATUSES: (f"topic {STATUS_TOPIC}", UNREADABLE),
    BROKER_LOGS: (f"topic {LINES_TOPIC}", UNREADABLE),
}
"""By the kind of right that is missing: what `config check --connect` finds wrong, and how its sentence begins."""

UNSEEN_GROUPS = {
    CLUSTER: (
        "groups of own (classic groups that this user may describe: 1)",
        "this user may not Describe the cluster, so nobody can distinguish a deleted group from a hidden",
    ),
    GROUPS: (
        "groups of own (classic groups that this user may describe: 0)",
        "brokers did not describe readers (Broker: Group authorization failed), so n",
    ),
}
"""What is said beside that where the groups themselves are asked for."""
ORDER = ("states", "groups", "group", "topic")
"""Of the lines, by the first word."""


@pytest.fixture(scope="module")
def stage() -> Iterator[Secured]:
    with secured("each-right", {}) as made:
        address = made.watched.broker.address
        config_topic.create(address, {CONFIG_TOPIC: 1, STATUS_TOPIC: 1, LINES_TOPIC: 1})
        made.watched.rebalance("readers")
        yield made


def cluster(address: str, client: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "own",
        "bootstrap_servers": address,
        "client": client,
        "connect": {GROUP: {"config_topic": CONFIG_TOPIC, "status_topic": STATUS_TOPIC}},
        **more,
    }


def settings(stage: Secured, cluster: dict[str, Any]) -> Settings:
    http, page = free_ports(2)
    told = {"dsn": stage.watched.postgres.dsn}
    return Settings.model_validate(
        {"clusters": [cluster], "database": told, "http": {"port": http}, "page": {"port": page}}
    )


def found_wrong(configured: Settings) -> list[tuple[str, str]]:
    return [(one.what, one.problem) for one in answers(configured) if one.problem is not None]


def described(configured: Settings) -> int:
    """Topics whose partitions brokers tell, beside those that are read."""
    (what,) = (one.what for one in answers(configured) if one.what.startswith("partition counts"))
    found = re.search(r"beside those that it reads: (\d+)", what)
    assert found is not None
    return int(found[1])


@contextmanager
def granted(stage: Secured, user: str, rights: tuple[Right, ...]) -> Iterator[None]:
    """Exactly these rights."""
    for right in rights:
        stage.allow(user, right.kind.resource, right.name, right.kind.operation)
    until(lambda: stage.rules(user) == len(rights))
    try:
        yield
    finally:
        stage.revoke_all(user)
        until(lambda: stage.rules(user) == 0)


def is_wrong(configured: Settings, *expected: tuple[str, str]) -> None:
    """What is found wrong is this, in this order."""
    found = found_wrong(configured)
    begins = [(what, problem[: len(begin)]) for (what, problem), (_, begin) in zip(found, expected, strict=False)]
    assert (begins, len(found)) == (list(expected), len(expected)), found


def test_nothing_is_allowed_at_first(stage: Secured) -> None:
    configured = settings(stage, cluster(stage.tls_address, stage.scram(USER, PASSWORD), coordinator_log=LINES))
    unseen = [(what, begin.replace(UNREADABLE, UNSEEN)) for what, begin in MISSED.values()]
    is_wrong(configured, *unseen)


@pytest.mark.parametrize("source", ["log", "poll"])
def test_the_declared_rights_are_enough_and_each_is_missed_by_its_sentence(stage: Secured, source: str) -> None:
    more = {"coordinator_log": LINES} if source == "log" else {}
    configured = settings(stage, cluster(stage.tls_address, stage.scram(USER, PASSWORD), source=source, **more))
    rights = rights_of(configured, configured.clusters[0])
    with granted(stage, USER, rights):
        is_wrong(configured)
        others = {TOPIC} if source == "log" else {TOPIC, LINES_TOPIC}
        assert described(configured) == len(others), others
    for right in rights:
        with granted(stage, USER, tuple(one for one in rights if one != right)):
            if right.kind is TOPICS:
                # Nobody can know of a topic that brokers leave out of their answers: the line says what it may mean.
                is_wrong(configured)
                assert described(configured) == 0
                continue
            of_groups = [UNSEEN_GROUPS[right.kind]] if source == "poll" and right.kind in UNSEEN_GROUPS else []
            is_wrong(
                configured, *sorted([MISSED[right.kind], *of_groups], key=lambda one: ORDER.index(one[0].split()[0]))
            )


def test_with_all_of_them_it_can_neither_write_nor_join_nor_create(stage: Secured) -> None:
    client = {"bootstrap.servers": stage.tls_address, "log_level": 0, **stage.scram(USER, PASSWORD)}
    configured = settings(stage, cluster(stage.tls_address, stage.scram(USER, PASSWORD)))
    refused: list[str] = []
    with granted(stage, USER, rights_of(configured, configured.clusters[0])):
        producer = Producer(client)
        producer.produce(TOPIC, b"no", on_delivery=lambda why, _: refused.append(why.name()))
        assert producer.flush(PATIENCE_S) == 0
        admin = AdminClient(client)
        with pytest.raises(KafkaException) as why:
            admin.create_topics([NewTopic("another", 1, 1)])["another"].result(PATIENCE_S)
        refused.append(why.value.args[0].name())
        consumer = Consumer({**client, "group.id": "readers"})
        consumer.subscribe([TOPIC])
        message = consumer.poll(PATIENCE_S)
        consumer.close()
    assert message is not None
    error = message.error()
    assert error is not None
    assert [*refused, error.name()] == [
        "TOPIC_AUTHORIZATION_FAILED",
        "TOPIC_AUTHORIZATION_FAILED",
        "GROUP_AUTHORIZATION_FAILED",
    ]


@pytest.mark.parametrize("form", ["PEM", "PKCS#12"])
def test_a_certificate_of_the_client_is_its_user(stage: Secured, form: str) -> None:
    issued, folder = stage.authority.issue("watcher"), stage.watched.lab.folder / "client"
    files = issued.files(folder)
    if form == "PEM":
        own = {"ssl.certificate.location": files["certificate"], "ssl.key.location": files["key"]}
    else:
        store = folder / "client.p12"
        store.write_bytes(issued.store(PASSWORD.encode()))
        own = {"ssl.keystore.location": str(store), "ssl.keystore.password": PASSWORD}
    tls = {"security.protocol": "SSL", "ssl.ca.location": str(stage.authority_file)}
    configured = settings(stage, cluster(stage.mtls_address, {**tls, **own}))
    with granted(stage, "CN=watcher", rights_of(configured, configured.clusters[0])):
        is_wrong(configured)
    nobody = settings(stage, cluster(stage.mtls_address, tls))
    ((what, problem), *_) = found_wrong(nobody)
    assert what == "cluster own"
    assert problem.startswith(f"no broker answers at {stage.mtls_address} (")
    assert problem.endswith("check clusters[].bootstrap_servers and clusters[].client")


def test_a_broker_that_no_trusted_authority_signed_is_not_believed(stage: Secured) -> None:
    client = {name: value for name, value in stage.scram(USER, PASSWORD).items() if name != "ssl.ca.location"}
    ((what, problem), *_) = found_wrong(settings(stage, cluster(stage.tls_address, client)))
    assert what == "cluster own"
    assert "certificate" in problem
    assert PASSWORD not in problem


def planted_faults(stage: Secured, squatter: int) -> dict[str, tuple[dict[str, Any], str, str]]:
    """By the line that is wrong: what the configuration says, and a part of the sentence. Rights: see above."""
    open_to_all, dead = stage.watched.broker.address, free_ports(1)[0]
    connect = {GROUP: {"config_topic": CONFIG_TOPIC, "status_topic": STATUS_TOPIC}}
    own = cluster(open_to_all, {})
    elsewhere = {"connect": {GROUP: {**connect[GROUP], "status_topic": "sinks-stats"}}}
    future = {"connect": {GROUP: {**connect[GROUP], "config_topic": FUTURE_TOPIC}}}
    refused = {**stage.scram(USER, PASSWORD), "sasl.password": "another"}
    nobodys = {"match": "nobodys-*", "team": "t", "members_at_least": 2}
    return {
        "cluster own": ({"clusters": [cluster(f"127.0.0.1:{dead}", {})]}, "no broker answers at", "bootstrap_servers"),
        "cluster own ": (
            {"clusters": [cluster(stage.tls_address, refused)]}, "no broker answers at", "clusters[].client"
        ),
        "topic sinks-stats": ({"clusters": [{**own, **elsewhere}]}, "there is no such topic", "check its name"),
        "clocks of own": ({"clusters": [{**own, **future}]}, "s ahead of this host's clock", "synchronize the clocks"),
        "expected groups nobodys-* in own (groups that it counts for: 0)": (
            {"groups": [nobodys]}, "counts for no consumer group", "correct groups[].match"
        ),
        "database": ({"database": {"dsn": f"postgresql://m@127.0.0.1:{dead}/m"}}, f"127.0.0.1:{dead}", "check"),
        f"http.port 127.0.0.1:{squatter}": (
            {"http": {"port": squatter}}, "can't listen there", "set another address"
        ),
        f"page.port 127.0.0.1:{squatter}": (
            {"page": {"port": squatter}}, "can't listen there", "set another address"
        ),
        "Java": ({"spark": {"java_home": "/nonexistent"}}, "/nonexistent", "java_home"),
        f"receiver 127.0.0.1:{dead}": (
            {"alerting": {"alertmanagers": [f"http://127.0.0.1:{dead}"]}}, "nothing listens there", "check the URL"
        ),
    }  # fmt: skip


def test_ten_planted_faults_are_named_each_with_what_to_do(stage: Secured) -> None:
    config_topic.create(stage.watched.broker.address, {FUTURE_TOPIC: 1})
    producer = Producer({"bootstrap.servers": stage.watched.broker.address, "log_level": 0})
    producer.produce(FUTURE_TOPIC, b"{}", key=b"k", timestamp=time.time_ns() // 1_000_000 + 1_800_000)
    assert producer.flush(PATIENCE_S) == 0
    with socket.create_server(("127.0.0.1", 0)) as squatter:
        faults = planted_faults(stage, squatter.getsockname()[1])
        assert len(faults) == 10
        http, page = free_ports(2)
        sound: dict[str, Any] = {
            "clusters": [cluster(stage.watched.broker.address, {})],
            "database": {"dsn": stage.watched.postgres.dsn}, "http": {"port": http}, "page": {"port": page},
        }  # fmt: skip
        is_wrong(Settings.model_validate(sound))
        found = {what: found_wrong(Settings.model_validate({**sound, **fault})) for what, (fault, *_) in faults.items()}
    missed = {
        what: found[what]
        for what, (_, says, do) in faults.items()
        if [named for named, _ in found[what]] != [what.rstrip()]
        or not all(one in found[what][0][1] for one in (says, do))
    }
    assert missed == {}
