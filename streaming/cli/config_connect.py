"""`config check --connect`: what brokers, database and receivers answer to this configuration. Nothing is written."""

import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rebalance_monitor.streaming.config.amazon import connecting
from rebalance_monitor.streaming.config.clusters import POLL, ClusterSection
from rebalance_monitor.streaming.config.rights import AclOperation, rights_of
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.core.model.settings import NOTHING_EXPECTED, ClusterSettings
from .config_coverage import clock_problem, not_covered
from .config_groups import found_by
from .config_ports import ports
from .moments import clock_ms
from .opening import need

if TYPE_CHECKING:
    from rebalance_monitor.streaming.spark.ends import KafkaView

OR_POLL = "; where nobody can grant that, set clusters[].source: poll (docs/sampled.md)"
MAY_NOT_DESCRIBE = "this user may not describe it, so its state is not known; grant it Describe on the group"
NONE_FITS = (
    "it counts for no consumer group that the brokers list, and none of clusters[].connect or clusters[].streams; "
    "correct groups[].match, or start the group"
)
PATIENCE_S = 5.0
READ_PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class ConnectionCheck:
    """What was asked, and one sentence if the answer is not good."""

    what: str
    problem: str | None = None


def answers(settings: Settings) -> Iterator[ConnectionCheck]:
    """Every answer, one after the other: the clusters with their topics, the database, ports, Java, receivers."""
    need("run", "confluent_kafka", "psycopg", "pyspark")
    for cluster in settings.clusters:
        yield from _cluster(settings, cluster)
    if settings.database.dsn is not None:
        yield ConnectionCheck("database", database_answers(settings))
    for what, problem in ports(settings):
        yield ConnectionCheck(what, problem)
    yield ConnectionCheck("Java", _java(settings))
    urls = [*settings.alerting.alertmanagers, *(one.url.get_secret_value() for one in settings.alerting.webhooks)]
    if settings.alerting.heartbeat_url is not None:
        urls.append(settings.alerting.heartbeat_url.get_secret_value())
    for address in dict.fromkeys(map(_address, urls)):
        yield ConnectionCheck(f"receiver {address[0]}:{address[1]}", _reached(address))


def _cluster(settings: Settings, cluster: ClusterSection) -> Iterator[ConnectionCheck]:
    from rebalance_monitor.streaming.spark.ends import ClusterError, KafkaView, why_missing

    view = KafkaView(cluster.librdkafka())
    try:
        view.cluster_id()
    except ClusterError as why:
        yield ConnectionCheck(
            f"cluster {cluster.name}",
            f"no broker answers at {cluster.bootstrap_servers} ({why}); "
            "check clusters[].bootstrap_servers and clusters[].client",
        )
        return
    yield ConnectionCheck(f"cluster {cluster.name}")
    if settings.polling.topics:
        yield _described(cluster)
    if settings.polling.group_states:
        yield ConnectionCheck(f"states of groups in {cluster.name}", _states(cluster))
    polled = cluster.source == POLL
    if polled:
        yield _groups(cluster)
    if polled or settings.polling.group_states or settings.polling.progress:
        yield from _configured_groups(cluster)
    core = settings.core_clusters()[cluster.name]
    if any(one.expects != NOTHING_EXPECTED for one in core.owners):
        yield from _expected_groups(cluster, core)
    rights = rights_of(settings, cluster)
    wanted = tuple(dict.fromkeys(one.name for one in rights if one.kind.operation is AclOperation.READ))
    try:
        topics = view.topics(wanted)
    except ClusterError as why:
        yield ConnectionCheck(f"topics of {cluster.name}", f"the cluster does not describe its topics ({why})")
        return
    for name in wanted:
        if name in topics.missing:
            problem: str | None = why_missing(topics.missing[name])
        else:
            leaders = topics.found[name].leaders
            problem = _uncovered(view, name, leaders) or _unreadable(cluster, name, min(leaders, default=0))
        if problem is not None and name == settings.source.offsets_topic:
            problem += OR_POLL
        yield ConnectionCheck(f"topic {name}", problem)
    # Lines of logs bear the times of whoever ships them.
    timed = {name: one for name, one in topics.found.items() if name != cluster.coordinator_log.topic}
    places = tuple((name, number) for name, one in timed.items() for number in one.leaders)
    yield ConnectionCheck(f"clocks of {cluster.name}", _clocks(view, places))


def _uncovered(view: "KafkaView", topic: str, leaders: Mapping[int, int | None]) -> str | None:
    from rebalance_monitor.streaming.spark.ends import ClusterError

    try:
        told = view.ends(tuple((topic, number) for number, leader in leaders.items() if leader is not None), False)
    except ClusterError as why:
        return f"its partitions do not answer ({why}); check advertised.listeners of the brokers and firewalls"
    return not_covered(leaders, {number: end for (_, number), end in told.items()})


def _clocks(view: "KafkaView", places: tuple[tuple[str, int], ...]) -> str | None:
    from rebalance_monitor.streaming.spark.ends import ClusterError

    try:
        newest = view.newest_ms(places)
    except ClusterError:  # brokers that do not tell
        return None
    return clock_problem(newest.values(), clock_ms())


def _described(cluster: ClusterSection) -> ConnectionCheck:
    """How many topics' partition counts the job will know: brokers leave out what a user may not describe."""
    from rebalance_monitor.streaming.polling.asking import KafkaTopics
    from rebalance_monitor.streaming.supervision import PartFailed

    try:
        topics = KafkaTopics(cluster.librdkafka())().topics
    except PartFailed as why:
        return ConnectionCheck(f"partition counts in {cluster.name}", str(why))
    read = {topic for one in cluster.core().connect.values() for topic in (one.config_topic, one.status_topic)}
    read.add(cluster.coordinator_log.topic)
    count = sum(not name.startswith("__") and name not in read for name in topics)
    said = f"topics that this user may describe, beside those that it reads: {count}"
    if not count:
        said += "; unless there are no others, grant it Describe on those that consumers subscribe to"
    return ConnectionCheck(f"partition counts in {cluster.name} ({said})")


def _groups(cluster: ClusterSection) -> ConnectionCheck:
    """How many groups the job will see, where it can only ask for them."""
    from rebalance_monitor.streaming.polling.asking_snapshots import KafkaSnapshots, not_described
    from rebalance_monitor.streaming.supervision import PartFailed

    what = f"groups of {cluster.name}"
    try:
        answer = KafkaSnapshots(cluster.librdkafka())()
    except PartFailed as why:
        return ConnectionCheck(what, str(why))
    counted = f"{what} (classic groups that this user may describe: {len(answer.groups)})"
    if answer.unclear:
        return ConnectionCheck(counted, not_described(answer.unclear))
    if answer.complete:
        return ConnectionCheck(counted)
    return ConnectionCheck(
        counted,
        "this user may not Describe the cluster, so nobody can distinguish a deleted group from a hidden one, and "
        "incidents of a deleted group stay open; grant it",
    )


def _configured_groups(cluster: ClusterSection) -> Iterator[ConnectionCheck]:
    """Whether the groups that the configuration names may be described: that is a right on each group of its own."""
    from rebalance_monitor.streaming.polling.asking_states import refused_groups
    from rebalance_monitor.streaming.supervision import PartFailed

    names = sorted({*cluster.connect, *cluster.streams})
    try:
        refused = refused_groups(cluster.librdkafka(), names)
    except PartFailed as why:
        yield ConnectionCheck(f"configured groups of {cluster.name}", str(why))
        return
    for name in names:
        yield ConnectionCheck(f"group {name}", MAY_NOT_DESCRIBE if name in refused else None)


def _expected_groups(cluster: ClusterSection, core: ClusterSettings) -> Iterator[ConnectionCheck]:
    """For how many groups each pattern counts of whose groups something is expected."""
    from rebalance_monitor.streaming.polling.asking_states import KafkaGroupStates
    from rebalance_monitor.streaming.supervision import PartFailed

    try:
        known = KafkaGroupStates(cluster.librdkafka()).listed() | cluster.connect.keys() | cluster.streams.keys()
    except PartFailed as why:
        yield ConnectionCheck(f"expected groups of {cluster.name}", str(why))
        return
    for pattern, count in found_by(core, known):
        what = f"expected groups {pattern} in {cluster.name} (groups that it counts for: {count})"
        yield ConnectionCheck(what, None if count else NONE_FITS)


def _states(cluster: ClusterSection) -> str | None:
    """Whether rebalances that do not end will be seen: brokers leave out groups that a user may not describe."""
    from rebalance_monitor.streaming.polling.asking_states import KafkaGroupStates
    from rebalance_monitor.streaming.supervision import PartFailed

    try:
        refused = KafkaGroupStates(cluster.librdkafka()).refused()
    except PartFailed as why:
        return str(why)
    if not refused:
        return None
    return (
        "this user may not Describe the cluster, so brokers leave out groups that it may not describe one by one, and "
        "rule stuck_rebalance does not judge these; grant it, or set polling.group_states: false"
    )


def _unreadable(cluster: ClusterSection, topic: str, partition: int) -> str | None:
    """Why the first partition cannot be read: describing a topic is allowed to more users than reading it."""
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

    consumer = Consumer(
        connecting(
            {
                **cluster.librdkafka(),
                "group.id": "rebalance-monitor-check",
                "enable.auto.commit": "false",
                "log_level": "0",
            }
        )
    )
    try:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=PATIENCE_S)
        if low == high:
            return None
        consumer.assign([TopicPartition(topic, partition, low)])
        for message in consumer.consume(1, timeout=READ_PATIENCE_S):
            problem = message.error()
            if problem is not None and problem.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                return "this user may not read it; grant it Read"
    except KafkaException as why:
        return f"it cannot be read ({why.args[0].str()})"
    finally:
        consumer.close()
    return None


def database_answers(settings: Settings) -> str | None:
    from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable

    assert settings.database.dsn is not None
    try:
        database = Database(settings.database.dsn.get_secret_value(), settings.database.connect_timeout_ms)
        with database.session() as connection:
            row = connection.execute(
                "select coalesce(has_schema_privilege(to_regnamespace('rebalance_monitor')::oid, 'CREATE'),"
                " has_database_privilege(current_database(), 'CREATE')),"
                " current_setting('transaction_read_only') = 'on'"
            ).fetchone()
        database.close()
    except DatabaseUnreachable as why:
        return str(why)
    may_create, read_only = (bool(row[0]), bool(row[1])) if row is not None else (False, True)
    if read_only:
        return "it is read-only; give the address of the primary"
    if may_create:
        return None
    return "this user may not create the schema rebalance_monitor or tables there; docs/security.md has its rights"


def _java(settings: Settings) -> str | None:
    from rebalance_monitor.streaming.spark.java import NoJava, java_home

    with tempfile.TemporaryDirectory() as folder:
        try:
            java_home(settings.spark.java_home, os.environ, Path(folder))
        except NoJava as why:
            return str(why)
    return None


def _address(url: str) -> tuple[str, int]:
    """Host and port of a URL. The rest may be a credential and is never shown."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _reached(address: tuple[str, int]) -> str | None:
    try:
        socket.create_connection(address, timeout=PATIENCE_S).close()
    except OSError as why:
        return f"nothing listens there ({why.strerror or why}); check the URL"
    return None
