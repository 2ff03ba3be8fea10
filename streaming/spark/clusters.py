"""The clusters of a job, each with a thread, and in it a query of its own on the one session.

    main thread       session, signals, the configuration read anew at SIGHUP: which clusters there are to be
    a cluster's       lease -> first question to a broker -> session -> query, until it is to stop
    a standby's       first question to a broker -> session -> lease, once the job that holds it ends -> query

What one cluster refuses is told of that cluster, which is tried again with growing pauses; the others go on. The job
ends when no cluster is left that could go on, and when what all share is gone: Spark, the disk.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from rebalance_monitor.streaming.config.clusters import ClusterSection
from rebalance_monitor.streaming.config.groups import GroupSection
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.core.ports import Deposed
from rebalance_monitor.streaming.polling.coordinator_log import (
    CoordinatorLogFollower,
    KeptReasons,
    LogFollower,
    followed,
)
from rebalance_monitor.streaming.polling.pollers import polled
from rebalance_monitor.streaming.store.database import DatabaseUnreachable
from rebalance_monitor.streaming.supervision import look_after_all, places, sentence
from .application import did_not_start
from .coordinator_topic import CoordinatorTopicFollower
from .ends import KafkaView
from .failures import CannotRun, ClusterRefused, TakenOver, no_room
from .first_answer import cluster_id
from .identity import identified
from .java import NoJava
from .job import Job, log_event
from .job_ports import JobPorts, Served
from .log_topic import KafkaLogTopic
from .observing import Leases, Observer
from .relayed_stderr import stop_relaying
from .scratch import scratch_folder
from .session import SPARK_SAYS, fits_sockets, master_of, stop_session
from .shared_session import SharedSession
from .stopping import LOOK_EVERY_S, ClusterStop, Stop, Stopping, end_at_once, start_session_aside

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("rebalance_monitor.job")

READ_ANEW = ("clusters", "groups")
"""Sections that are read anew at SIGHUP. A cluster begins again where its entry or one of its groups is another one."""
ASK_EVERY_S = 30.0
"""How often a job that waits asks the brokers whether it could read."""
FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 300.0


class ClusterThread:
    """One cluster's thread, as it was configured when it began. `refused`: why it cannot be watched now; `ended`: why
    the whole job cannot go on."""

    def __init__(
        self,
        section: ClusterSection,
        groups: tuple[GroupSection, ...],
        stop: ClusterStop,
        life: Callable[[Stopping], None],
    ) -> None:
        self.section, self.groups, self.stop, self._life = section, groups, stop, life
        self.refused: Exception | None = None
        self.ended: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=f"cluster {section.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def runs(self) -> bool:
        return self._thread.is_alive()

    def goes_on(self) -> None:
        self.refused = None

    def _run(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self.stop:
            began_s = time.monotonic()
            try:
                self._life(self.stop)
            except TakenOver as why:
                self.refused = why  # trying again would only depose the other one
                return
            except (ClusterRefused, DatabaseUnreachable) as why:
                self.refused = why
            except CannotRun as why:
                self.ended = why
                return
            except Exception as why:
                fields = {"cluster": self.section.name, "why": sentence(why), "stack": places(why)}
                log.error("cluster_fails", extra={"fields": fields})
                self.refused = why
            pause_s = FIRST_PAUSE_S if time.monotonic() - began_s > LONGEST_PAUSE_S else pause_s
            self.stop.wait(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


class Clusters:
    """Those that the configuration names now, and those that still come to their end."""

    def __init__(self, settings: Settings, scratch: Path, stop: Stop, session: SharedSession, ports: JobPorts) -> None:
        self._settings, self._scratch, self._stop, self._session = settings, scratch, stop, session
        self._ports, self._leases, self._observer = ports, ports.leases, ports.observer
        self._running: dict[str, ClusterThread] = {}
        self._said: dict[str, str] = {}
        self._numbers = count()
        self._ids: dict[str, str] = {}
        self._naming = threading.Lock()

    def are_to_be(self, settings: Settings) -> None:
        """The configuration has changed. Sections beside clusters and groups stay as they were at the start."""
        others = sorted(
            name
            for name in type(settings).model_fields
            if name not in READ_ANEW and getattr(settings, name) != getattr(self._settings, name)
        )
        log_event("configuration_read", clusters=[one.name for one in settings.clusters], needs_restart=others)
        self._settings = self._settings.model_copy(update={name: getattr(settings, name) for name in READ_ANEW})

    def look(self) -> None:
        """Starts and stops what is to be. Raises what the job cannot go on with."""
        wanted = {one.name: one for one in self._settings.clusters}
        for name, one in list(self._running.items()):
            if one.ended is not None:
                raise one.ended
            if name not in wanted:
                one.stop.ask("taken out of the configuration")
            elif (wanted[name], self._settings.groups_of(name)) != (one.section, one.groups):
                one.stop.ask("configured in another way")
            elif one.runs() or one.refused is not None:
                continue
            if not one.runs():
                del self._running[name]
                with self._naming:
                    self._ids.pop(name, None)
                if name not in wanted:
                    self._leases.give_up(name)
                    self._ports.forget(name)
        for name, section in wanted.items():
            if name not in self._running:
                self._begin(section)
        self._tell()

    def _begin(self, section: ClusterSection) -> None:
        self._observer.watch(section.name)
        self._leases.want(section.name)
        groups = self._settings.groups_of(section.name)
        thread = ClusterThread(section, groups, ClusterStop(self._stop), lambda stop: self._life(thread, stop))
        self._running[section.name] = thread
        thread.start()

    def _tell(self) -> None:
        """What stands in the way of each cluster, once. Raises it where it stands in the way of all."""
        refused = {name: one.refused for name, one in self._running.items() if one.refused is not None}
        said = {name: _text(why) for name, why in refused.items()}
        if refused and len(refused) == len(self._running):
            raise next(iter(refused.values())) if len(refused) == 1 else CannotRun("\n".join(said.values()))
        for name, why in said.items():
            if self._said.get(name) != why:
                log.warning("does_not_read", extra={"fields": {"cluster": name, "why": why}})
                self._observer.trouble(name, why)
        self._said = said

    def wait(self) -> None:
        """Until all have come to their end; then another job may judge them."""
        while any(one.runs() for one in self._running.values()):
            time.sleep(LOOK_EVERY_S / 5)
        self._leases.give_up()

    def _alone(self, name: str, id_: str) -> None:
        """Notes whose id it is. ClusterRefused where another name of the configuration leads to the same cluster: its
        positions are kept by this id."""
        with self._naming:
            other = next((one for one, known in self._ids.items() if known == id_ and one != name), None)
            if other is not None:
                raise ClusterRefused(
                    f"clusters {other} and {name} are one Kafka cluster (its id is {id_}); list it once"
                )
            self._ids[name] = id_

    def _life(self, thread: ClusterThread, stop: Stopping) -> None:
        try:
            self._watched(thread, stop)
        except (CannotRun, DatabaseUnreachable):
            raise
        except Exception:
            self._session.look()  # whatever fails because Spark is gone says less than that
            raise

    def _watched(self, thread: ClusterThread, stop: Stopping) -> None:
        section, settings = thread.section, self._settings
        with ExitStack() as ending:
            served = ending.enter_context(self._ports.serve(section.name))
            holding = Holding(section.name, self._leases, self._observer, served)
            holding.look()  # what is open is published while brokers and Spark are waited for
            id_ = cluster_id(section, holding.trouble, stop)  # a wrong address shows before Spark's start
            if id_ is not None:
                self._alone(section.name, id_)
                thread.goes_on()
                self._stand_by(section, holding, stop)
            epoch = holding.epoch
            if id_ is not None and epoch is not None:
                try:
                    identified(section, id_, partial(served.identify, epoch))
                except Deposed as why:
                    raise TakenOver(section.name) from why
                told = self._observer.of(section.name)
                pollers = ending.enter_context(polled(section, settings, told))
                ending.enter_context(followed(section.name, follower_of(section, epoch, served.reasons), told))
                if (spark := self._session.wait(stop)) is not None:
                    scratch = self._scratch / f"cluster-{next(self._numbers)}"
                    scratch.mkdir(parents=True)
                    Job(spark, settings, section, id_, served, self._ports, scratch, pollers).run(epoch, stop)
        if not thread.stop.at_once:
            log_event("stopped", cluster=section.name)

    def _stand_by(self, section: ClusterSection, holding: "Holding", stop: Stopping) -> None:
        """Until the job that holds the lease has ended, or the end comes first. Spark runs by then, and brokers
        answered a moment ago."""
        asked_s = time.monotonic()
        while not stop and not holding.look():
            self._session.wanted.set()
            if self._session.spark is not None:
                self._session.warm_up(self._scratch)
                holding.says_so()
            if time.monotonic() - asked_s > ASK_EVERY_S:
                cluster_id(section, holding.trouble, stop)
                asked_s = time.monotonic()
            stop.wait(LOOK_EVERY_S)


def follower_of(section: ClusterSection, epoch: int, kept: KeptReasons) -> LogFollower | None:
    """Of brokers' logs, where the configuration says where they are."""
    name, files, topic = section.name, section.coordinator_log.files, section.coordinator_log.topic
    if topic is not None:
        client = section.librdkafka()
        return CoordinatorTopicFollower(name, topic, KafkaView(client), KafkaLogTopic(topic, client), kept, epoch)
    return CoordinatorLogFollower(name, files, kept, epoch) if files else None


class Holding:
    """Whether this job holds a cluster's lease: `epoch`, None while another job does."""

    def __init__(self, cluster: str, leases: Leases, observer: Observer, served: Served) -> None:
        self._cluster, self._leases, self._observer, self._served = cluster, leases, observer, served
        self.epoch: int | None = None
        self._said = ""

    def look(self) -> bool:
        """Whether it does now; with the lease comes what is published and notified. TakenOver."""
        if self.epoch is None:
            try:
                self.epoch = self._leases.epoch(self._cluster)
            except Deposed as why:
                raise TakenOver(self._cluster) from why
            if self.epoch is not None:
                self._observer.stands_by(self._cluster, None)
                self._served.claimed(self.epoch)
        return self.epoch is not None

    def trouble(self, cluster: str, problem: str | None) -> None:
        """While brokers are waited for the lease may come."""
        self._observer.trouble(cluster, problem)
        self.look()

    def says_so(self) -> None:
        """That another job judges the cluster, once."""
        holder = self._leases.holders(self._cluster)
        if holder is not None and holder != self._said:
            self._said = holder
            log_event("stands_by", cluster=self._cluster, holder=holder)
            self._observer.stands_by(self._cluster, holder)


def _text(why: Exception) -> str:
    """What people are told; the text of an error that nobody foresaw may hold a password."""
    return str(why) if isinstance(why, CannotRun | DatabaseUnreachable) else sentence(why)


def run_job(settings: Settings, ports: JobPorts) -> None:
    """Everything from the session's start to its stop. Raises CannotRun and what else no cluster can go on with.

    A signal before the session's start ends the job when the questions under way are over, a few seconds later; a
    second one at once.
    """
    with (
        scratch_folder(settings.spark.checkpoint_dir) as scratch,
        for_sockets(scratch) as sockets,
        Stop(partial(end_at_once, scratch)).on_signals() as stop,
    ):
        session = SharedSession()
        clusters = Clusters(settings, scratch, stop, session, ports)
        spark: SparkSession | None = None
        hang_ups = 0
        try:
            while not stop:
                if stop.hang_ups > hang_ups:
                    hang_ups = stop.hang_ups
                    if (changed := ports.reload()) is not None:
                        clusters.are_to_be(changed)
                clusters.look()
                look_after_all()
                if spark is None and session.wanted.is_set():
                    spark = _started(settings, scratch, sockets, stop)
                    if spark is not None:
                        session.is_there(spark)
                stop.wait(LOOK_EVERY_S)
            log_event("asked_to_end", signal=stop.why)
            stop_relaying(SPARK_SAYS)
            clusters.wait()
        finally:
            if spark is not None:
                stop_session(spark)


@contextmanager
def for_sockets(scratch: Path) -> Iterator[Path]:
    """The folder itself, unless its path is too long for a socket in it; then one in the temporary folder, if there is
    room."""
    with ExitStack() as ending:
        folder = scratch
        if not fits_sockets(scratch):
            with suppress(CannotRun):
                folder = ending.enter_context(scratch_folder(None))
        yield folder


def _started(settings: Settings, scratch: Path, sockets: Path, stop: Stop) -> "SparkSession | None":
    """The session; None after a signal."""
    began_s = time.monotonic()
    try:
        spark = start_session_aside(settings.spark, scratch, sockets, stop)
    except NoJava as why:
        raise CannotRun(str(why)) from why
    except OSError as why:
        raise no_room(scratch, why) from why
    except Exception as why:
        raise did_not_start(master_of(settings.spark), why) from why
    if spark is not None:
        log_event("session_started", seconds=round(time.monotonic() - began_s, 1))
    return spark
