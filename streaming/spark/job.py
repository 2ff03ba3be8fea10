"""Runs the query of one cluster: start, watch, start again from the database's positions where that is needed, stop
gracefully."""

import logging
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rebalance_monitor.streaming.config.clusters import ClusterSection
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.lifecycles import REGISTRY
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import GapRecord
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import AlreadyThere, Deposed, OutOfStep, Overtaken
from rebalance_monitor.streaming.polling.pollers import Pollers
from .application import Application
from .batch import BatchFunction, BatchReport, kind_names
from .bundle import FoldedBundle, Orders
from .channel import Channel, ReaderStatus
from .commits_read import logged_ends, read_of_log
from .failures import BatchFailed, CannotRun, TakenOver, first_line
from .first_answer import FIRST_PAUSE_S, LONGEST_PAUSE_S
from .folding import FoldHere
from .job_ports import JobPorts, Served
from .learning import Askers
from .offsets import COORDINATORS_LOG
from .scratch import full
from .session import is_local
from .source import FORMAT, SourceOptions, source_called
from .stopping import Stopping
from .tasks import SparkTasks
from .watchdog import READER, TASK, Hangs, Watchdog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

log = logging.getLogger("rebalance_monitor.job")

T = TypeVar("T")

WATCH_EVERY_S = 0.25
STATUS_EVERY_S = 1.0
PROGRESS_EVERY_S = 5.0


def log_event(event: str, **fields: Any) -> None:
    """One line for people and programs; the handler turns `fields` into JSON."""
    log.info(event, extra={"fields": fields})


class Job:
    """One cluster's query on a session that is already there."""

    def __init__(
        self,
        spark: "SparkSession",
        settings: Settings,
        section: ClusterSection,
        id_: str,
        served: Served,
        ports: JobPorts,
        scratch: Path,
        pollers: Pollers,
    ) -> None:
        self._served, self._untold = served, False
        self._fold, self._pollers = ports.fold, pollers
        self._tasks = SparkTasks(spark, ports.of_tasks, ports.fold, scratch)
        self._master: str = spark.sparkContext.master
        self._application = Application(spark, self._master, time.monotonic())
        self._spark, self._settings, self._section, self._client = spark, settings, section, ports.client_of(section)
        self._store, self._observer, self._ends, self._scratch = served.store, ports.observer, served.ends, scratch
        self._core: ClusterSettings = settings.core_clusters()[section.name]
        self._cluster_id = id_
        self._channel = Channel(scratch)
        self._failure: BaseException | None = None
        self._committed = 0
        self._ticked = False
        self._settled = False
        self._said = ""
        self._watchdog = self._new_watchdog()
        self._function: BatchFunction | None = None
        self._progress: tuple[float, int] | None = None
        self._unread: dict[str, tuple[int, int]] = {}
        self._format = f"{FORMAT}_{scratch.name}"
        spark.dataSource.register(source_called(self._format))

    def run(self, epoch: int, stop: Stopping) -> None:
        """As the writer with this epoch, until it is to stop, or until another writer takes over (TakenOver). CannotRun
        where Spark is gone."""
        self._unread = self._ends.stored(self._cluster_id)
        self._ends.start(self._cluster_id, epoch)
        pause_s = FIRST_PAUSE_S
        while not stop:
            committed = self._committed
            problem = self._run_query(epoch, stop)
            if stop:
                return
            if isinstance(problem, Deposed):
                raise TakenOver(self._section.name) from problem
            if isinstance(problem, CannotRun):
                raise problem
            self._application.look(time.monotonic())
            pause_s = FIRST_PAUSE_S if self._committed > committed else min(pause_s * 2, LONGEST_PAUSE_S)
            why = full(self._scratch) or (first_line(problem) if problem is not None else "the query ended")
            log_event("query_restarts", cluster=self._section.name, why=why, pause_s=round(pause_s, 1))
            if isinstance(problem, Hangs):
                self._observer.of(self._section.name).part(problem.name, why)
            heals = isinstance(problem, AlreadyThere | Overtaken) or (
                isinstance(problem, OutOfStep) and not problem.why
            )
            if not heals:
                self._observer.trouble(self._section.name, why)
            stop.wait(pause_s)

    def _run_query(self, epoch: int, stop: Stopping) -> BaseException | None:
        """One life of the query. Returns why it ended."""
        self._failure, self._ticked, self._settled, self._function = None, False, False, None
        self._watchdog = self._new_watchdog()
        checkpoint: Path | None = None
        query: StreamingQuery | None = None
        try:
            if self._untold:
                self._served.restore()
                self._untold = False
            self._remember_unread()
            self._channel.forget()
            checkpoint = Path(tempfile.mkdtemp(prefix="checkpoint-", dir=self._scratch))
            query = self._start(epoch, checkpoint)
            self._observer.reader(self._section.name, self._status())
            self._observer.trouble(self._section.name, None)
            self._watch(query, stop)
            if stop:
                if not stop.at_once:
                    log_event("stopping", cluster=self._section.name, signal=stop.why)
                query.stop()
            ended: BaseException | None = query.exception()
            return self._failure or ended
        except Hangs as why:
            return why  # what fails because the process was killed says less
        except Exception as why:
            # Database, disk or Spark: all are tried again from the database's positions, with growing pauses.
            return self._failure or why
        finally:
            if query is not None:
                with suppress(Exception):
                    query.stop()
            if checkpoint is not None:
                shutil.rmtree(checkpoint, ignore_errors=True)

    def _new_watchdog(self) -> Watchdog:
        local, read_ms = is_local(self._master), self._settings.source.read_timeout_ms
        return Watchdog(self._section.name, self._scratch, read_ms, time.monotonic(), here=local)

    def _remember_unread(self) -> None:
        """What the last reader knew of and had not read: a topic that was deleted meanwhile takes it along."""
        status = self._channel.status()
        if status.at_ms:
            self._unread = status.unread

    def _start(self, epoch: int, checkpoint: Path) -> "StreamingQuery":
        asked, polling = self._pollers, self._settings.polling
        # What is polled is of all partitions, so it is folded with what was read, in this process.
        polling_groups = asked.groups is not None
        function = self._function = BatchFunction(
            self._store,
            self._core,
            cluster_id=self._cluster_id,
            writer_epoch=epoch,
            started_ms=time.time_ns() // 1_000_000,
            on_results=self._report,
            publish=self._channel.publish,
            here=FoldHere(self._fold),
            tasks=lambda: 1 if polling_groups else self._spark.sparkContext.defaultParallelism,
            askers=Askers(asked.topics, asked.states, asked.groups, asked.progress, polling.progress_groups),
            on_read=self._read_of_log,
        )
        if asked.logged is not None:
            asked.logged.restart(logged_ends(function.positions, asked.logged.topic))

        def on_batch(frame: Any, batch_id: int) -> None:
            try:
                # One action, once: each use of the frame would read the range again.
                if polling_groups:
                    function(self._watched(lambda: self._tasks.read(frame)), batch_id)
                else:
                    function.spread(frame, batch_id, self._spread)
            except BaseException as why:
                self._untold |= not isinstance(why, OutOfStep)  # after which all that was committed is told
                self._failure = why
                # Spark searches the text of this error with an expression that overflows Java's stack on a long one,
                # such as the trace of a call that `query.stop()` interrupted.
                raise BatchFailed(type(why).__name__) from None

        options = self._options(function)
        log_event(
            "query_starts", cluster=self._section.name, cluster_id=self._cluster_id, positions=len(options.positions)
        )
        # Batches of clusters take turns: who has much to catch up on makes the others wait for one batch at most.
        self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", self._section.name)
        frame = self._spark.readStream.format(self._format).options(**options.spark()).load()
        return (
            frame.writeStream.foreachBatch(on_batch)
            .option("checkpointLocation", checkpoint.as_uri())
            .trigger(processingTime=f"{self._settings.spark.trigger_ms} milliseconds")
            .start()
        )

    def _read_of_log(self, done: Sequence[FoldedBundle]) -> None:
        if self._pollers.logged is not None:
            self._pollers.logged.take(read_of_log(done, self._pollers.logged.topic))

    def _spread(self, frame: Any, orders: Orders, knowledge: Knowledge) -> list[FoldedBundle | Exception]:
        return self._watched(lambda: self._tasks(frame, orders, knowledge))

    def _watched(self, action: Callable[[], T]) -> T:
        """What runs in Spark's tasks, while the watchdog looks at them."""
        self._watchdog.reading(time.monotonic())
        untold, self._untold = self._untold, True  # a task may have committed, although nobody hears of it
        try:
            done = action()
        finally:
            self._watchdog.reading(None)
        self._untold = untold
        return done

    def _options(self, function: BatchFunction) -> SourceOptions:
        source = self._settings.source
        polled = self._pollers.groups is not None
        topics: dict[str, str] = {} if polled else {source.offsets_topic: COORDINATORS_LOG}
        for group in REGISTRY.configured(self._core):
            topics.update(kind_names(self._core, group))
        # A topic that was made anew has positions of every life; only the last one can have ended unseen.
        latest = {key.topic: key.topic_id for key in function.positions}
        return SourceOptions(
            cluster_id=self._cluster_id,
            topics=topics,
            committed=tuple(sorted(REGISTRY.committed)),
            positions=tuple(
                (k.topic, k.topic_id, k.partition, at)
                for k, at in function.positions.items()
                if k.topic_id == latest[k.topic]
            ),
            unread=self._unread,
            channel=str(self._scratch),
            max_bytes_per_second_per_broker=source.max_bytes_per_second_per_broker,
            heartbeat_ms=source.heartbeat_ms,
            poll_max_ms=source.poll_max_ms,
            read_timeout_ms=source.read_timeout_ms,
            max_lag_s=self._settings.ready.max_lag_s,
            client=self._client,
            commits=None if self._pollers.logged is None else self._pollers.logged.patterns,
        )

    def _report(self, report: BatchReport) -> None:
        self._committed += report.whole
        self._ticked |= report.tick_ms is not None
        log_event(
            "batch",
            cluster=report.cluster,
            batch=report.batch_id,
            records=report.records,
            rows=report.rows,
            groups=report.groups,
            results=report.results,
            tick_ms=report.tick_ms,
            bundles=report.bundles,
            processes=list(report.processes),
            ms=round(report.seconds * 1000),
        )
        for result in report.view.others:
            if isinstance(result, GapRecord):
                log.warning("gap", extra={"fields": as_object(result)})
        self._observer.batch(report)

    def _watch(self, query: "StreamingQuery", stop: Stopping) -> None:
        """Until the query or the job ends; meanwhile hand on what the reader sees."""
        status_at = progress_at = 0.0
        while not stop and self._failure is None and query.isActive:
            stop.wait(WATCH_EVERY_S)
            now_s = time.monotonic()
            if now_s - status_at < STATUS_EVERY_S:
                continue
            status_at, status = now_s, self._status()
            self._observer.reader(self._section.name, status)
            if status.at_ms:
                self._ends.note(self._cluster_id, status.unread)
            if self._pollers.logged is not None and status.behind_s is not None:
                self._pollers.logged.read_to(status.at_ms - round(status.behind_s * 1000))
            self._say(status)
            self._application.look(now_s)
            self._watchdog.look(now_s)
            self._pollers.look()
            if now_s - progress_at >= PROGRESS_EVERY_S:
                progress_at = now_s
                self._catching_up(status, now_s)

    def _status(self) -> ReaderStatus:
        """What the reader says; only a batch with a tick commits all that it handed out.

        Topics that the first batches bring up are read before the job is ready for the first time; what comes up later
        has as long as everything else.
        """
        status, now_s = self._channel.status(), time.monotonic()
        self._watchdog.reported(status.at_ms, now_s)
        silent_s = self._watchdog.silent_s(now_s)
        problem = full(self._scratch) or status.problem
        if problem is None and status.blind is not None:
            problem = f"blind: {status.blind} can't be read, so nothing is judged"
        if problem is None and self._watchdog.has_reported and silent_s > self._settings.ready.max_lag_s:
            problem = f"the reader has said nothing for {silent_s:.0f} s"
        if problem is None and self._pollers.groups is not None:
            problem = self._pollers.groups.problem(self._settings.ready.max_lag_s)
        if problem is not None:
            status = replace(status, problem=problem, caught_up=False)
        known = self._function is not None and status.revision == self._function.revision
        caught_up = self._ticked and status.caught_up and (self._settled or (known and status.all_read))
        if caught_up and not self._settled:
            for name in (READER, TASK):
                self._observer.of(self._section.name).part(name, None)
        self._settled = caught_up
        return replace(status, caught_up=caught_up)

    def _say(self, status: ReaderStatus) -> None:
        """One line when something begins to stand in the way of reading, and one when it is over."""
        kind = re.sub(r"\d+", "", status.problem or "")
        if kind == self._said:
            return
        self._said = kind
        if status.problem is None:
            log_event("reads_again", cluster=self._section.name)
        else:
            event = "blind" if status.blind is not None else "does_not_read"
            log.warning(event, extra={"fields": {"cluster": self._section.name, "why": status.problem}})

    def _catching_up(self, status: ReaderStatus, now_s: float) -> None:
        """How much is left and for how long, while something is."""
        left = sum(status.backlog.values())
        if status.caught_up or not left:
            self._progress = None
            return
        eta_s = None
        if self._progress is not None and left < self._progress[1]:
            eta_s = round(left * (now_s - self._progress[0]) / (self._progress[1] - left))
        self._progress = (now_s, left)
        log_event("catching_up", cluster=self._section.name, records_left=left, eta_s=eta_s)
