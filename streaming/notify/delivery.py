"""Drains the outbox to every receiver: at least once, in order, each receiver on its own thread.

A dead receiver delays nobody else. A notification is marked only after the receiver has accepted it; a kill in between
repeats it under the same key, which receivers that honour keys see once.

Only the writer of a cluster notifies of it: delivery begins with the first epoch that the job has claimed, each attempt
is a turn (see `writer`), and a cluster's notifications are another job's once that one has claimed its next epoch.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from tenacity import (
    RetryCallState,
    RetryError,
    Retrying,
    retry_if_exception_type,
    stop_after_delay,
    stop_any,
    stop_when_event_set,
    wait_exponential_jitter,
)
from tenacity.nap import sleep_using_event

from rebalance_monitor.streaming.core.ports import Deposed
from rebalance_monitor.streaming.store.database import Connection, Database, DatabaseUnreachable
from rebalance_monitor.streaming.store.joining import decide
from rebalance_monitor.streaming.store.outbox import (
    CHANNEL,
    Notification,
    mark_sent,
    settle,
    still_waits,
    waiting,
    waiting_count,
)
from rebalance_monitor.streaming.store.writer import TurnTaken, clusters_of, turn
from rebalance_monitor.streaming.supervision import Answerable, Supervised
from .joining import Joining

log = logging.getLogger("rebalance_monitor.delivery")

# A notification wakes the thread at once; this is how long one that got lost can stay unseen.
LOOK_EVERY_S = 1.0
# A notification that is not accepted for so long is looked up anew: maintenance may have withdrawn it.
TRY_FOR_S = 60.0
# How often it looks whether the turn of the job before is over.
TURN_EVERY_S = 0.2


class NotAccepted(Exception):
    """The receiver did not take it this time; worth trying again. The text holds no secret.

    `wait_s`: how long it asks to be left alone.
    """

    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.wait_s = wait_s


class NeverAccepted(Exception):
    """The receiver will never accept this content. The text holds no secret."""


class DeliveryCounts(Protocol):
    """Who counts attempts; the exporter does."""

    def notified(self, outcome: str) -> None:
        """An attempt ended: `sent`, `failed` or `refused`."""

    def outbox_pending(self, count: int) -> None:
        """So many notifications wait for some receiver."""


class Receiver(Protocol):
    """Somebody who is told. `name` is how rows and the log call it: no credential may be in it."""

    @property
    def name(self) -> str: ...
    @property
    def joins(self) -> bool:
        """Whether notifications of groups that rebalanced at once reach it as one."""

    def send(self, waiting: Notification) -> None:
        """One attempt. NotAccepted or NeverAccepted."""

    def again(
        self, connection: Connection, push: Callable[[Callable[[], None], str], str | None], clusters: Sequence[str]
    ) -> None:
        """Whatever this receiver must hear again of these clusters; `push` repeats an attempt until it is accepted."""

    def close(self) -> None: ...


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Delivery:
    """The threads, from `start` to `stop`."""

    def __init__(
        self,
        dsn: str,
        receivers: Sequence[Receiver],
        told: DeliveryCounts | None = None,
        answerable: Answerable | None = None,
        joining: Joining | None = None,
    ) -> None:
        """`joining`: without it each notification is told by itself."""
        self._dsn, self._receivers, self._told, self._answerable = dsn, receivers, told, answerable
        self._joining = joining
        self._stop = threading.Event()
        self._threads: list[Supervised] = []

    def start(self, epochs: Collection[int]) -> None:
        """Begins to notify, as the writer that has claimed these epochs; there may be more of them later."""
        names = [one.name for one in self._receivers]
        for receiver in self._receivers:
            joining = self._joining if receiver.joins else None
            loop = _Thread(Database(self._dsn), epochs, receiver, names, self._told, self._stop, joining)
            name = f"delivery to {receiver.name}"
            self._threads.append(Supervised(name, loop.step, self._answerable, stop=self._stop, at_end=loop.close))
        for thread in self._threads:
            thread.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """Ends after the attempt under way. What is not sent stays in the outbox."""
        self._stop.set()
        for thread in self._threads:
            thread.stop(timeout_s)


_GROWING = wait_exponential_jitter(multiplier=0.2, max=30.0, jitter=0.2)


def _pause_s(attempts: RetryCallState) -> float:
    """Growing pauses, or longer where the receiver asks for it."""
    why = attempts.outcome.exception() if attempts.outcome is not None else None
    if isinstance(why, TurnTaken):
        return TURN_EVERY_S
    asked_s = why.wait_s if isinstance(why, NotAccepted) else None
    return max(float(_GROWING(attempts)), asked_s or 0.0)


class _Thread:
    """One receiver's loop."""

    def __init__(
        self,
        database: Database,
        epochs: Collection[int],
        receiver: Receiver,
        names: Sequence[str],
        told: DeliveryCounts | None,
        stop: threading.Event,
        joining: Joining | None,
    ) -> None:
        self._database, self._epochs, self._receiver, self._names = database, epochs, receiver, names
        self._told, self._stop, self._joining = told, stop, joining
        self._name = receiver.name
        self._listening: Connection | None = None
        self._settled: list[str] = []
        self._failing = self._deposed = False
        self._away = ""
        """Why the database could not be used at the last attempt, as it was logged; empty once it answers."""

    def step(self) -> float | None:
        """Send what waits, say again what must be, sleep until the database has news. A job that was deposed everywhere
        may become the writer of another cluster."""
        try:
            self._round()
        except DatabaseUnreachable as why:
            self._listening = None
            if str(why) != self._away:
                log.warning("%s", why)
            self._away = str(why)
            return LOOK_EVERY_S
        except Deposed:
            if not self._deposed:
                log.warning("another job has taken over; %s gets no more notifications from this one", self._name)
            self._deposed, self._settled = True, []
            return LOOK_EVERY_S
        except RetryError:
            pass  # stopped, or it is time to look whether the notification is still to be sent
        return 0.0

    def close(self) -> None:
        self._receiver.close()
        self._database.close()

    def _round(self) -> None:
        if not self._epochs:  # the clusters that were watched are taken out, others are not there yet
            self._stop.wait(LOOK_EVERY_S)
            return
        with self._database.session() as connection:
            if connection is not self._listening:
                connection.execute(f"listen {CHANNEL}")
                self._listening = connection
            if self._away:
                log.warning("PostgreSQL answers again; %s gets what waited", self._name)
                self._away = ""
            with connection.transaction():
                clusters = clusters_of(connection, self._epochs)
                if new := sorted(set(clusters) - set(self._settled)):
                    clusters = clusters_of(connection, self._epochs, lock=True)
                    settle(connection, self._names, new)
            self._settled, self._deposed = clusters, False
            # Before the first attempt too: while nobody accepts anything, no round comes to its end.
            self._count(connection, clusters)
            if self._joining is not None:
                self._joining.decide(connection, clusters)
            todo = waiting(connection, self._name, clusters, joined=self._joining is not None)
            for due in todo:
                self._push(connection, due.key, due)
            if todo:
                self._count(connection, clusters)
            self._receiver.again(connection, lambda attempt, key: self._push(connection, key, attempt), clusters)
            if not todo and not self._stop.is_set():
                for _ in connection.notifies(timeout=LOOK_EVERY_S, stop_after=1):
                    pass

    def _count(self, connection: Connection, clusters: Sequence[str]) -> None:
        if self._told is not None:
            self._told.outbox_pending(waiting_count(connection, clusters))

    def _push(self, connection: Connection, key: str, what: Notification | Callable[[], None]) -> str | None:
        """Until the receiver accepts (None) or refuses for good (why); RetryError after TRY_FOR_S.

        One of the outbox is marked in the same turn, and not sent once it waits no more; anything else is an attempt.
        """
        attempts = Retrying(
            retry=retry_if_exception_type((NotAccepted, TurnTaken)),
            wait=_pause_s,
            stop=stop_any(stop_when_event_set(self._stop), stop_after_delay(TRY_FOR_S)),
            sleep=sleep_using_event(self._stop),
        )
        refused: str | None = attempts(self._turn, connection, what)
        if refused is not None:
            log.error("%s will never accept the notification %s: %s", self._name, key, refused)
        return refused

    def _turn(self, connection: Connection, what: Notification | Callable[[], None]) -> str | None:
        """One attempt and its mark, while no other job notifies this receiver. Returns why it was refused for good."""
        with turn(connection, self._name, self._epochs) as clusters:
            if not isinstance(what, Notification):
                return self._refused(what)
            keys = [key for key in what.keys if still_waits(connection, key, self._name, clusters)]
            if not keys:
                return None
            together = bool(what.parts)
            refused = self._refused(lambda: self._receiver.send(what.only(keys)), together=together)
            if refused is not None and together:  # too large, perhaps: each by itself in the next round
                told = "%s does not accept the notification of %d incidents (%s); each is sent by itself"
                log.warning(told, self._name, len(keys), refused)
                decide(connection, keys, {})
                return None
            for key in keys:
                mark_sent(connection, key, self._name, self._names, refused)
            return refused

    def _refused(self, attempt: Callable[[], None], *, together: bool = False) -> str | None:
        """Why it is never accepted. `together`: what is refused so is not lost, and not counted as refused."""
        try:
            self._attempt(attempt, together=together)
        except NeverAccepted as why:
            return str(why)
        return None

    def _attempt(self, attempt: Callable[[], None], *, together: bool) -> None:
        try:
            attempt()
        except NotAccepted as why:
            self._note("failed", why)
            raise
        except NeverAccepted:
            # An answer for good: nothing is tried again, and whoever should have been told was not.
            if not together:
                self._note("refused", None)
            raise
        except Exception as why:
            # An error of ours is tried again like the receiver's, with pauses, counted and seen by the alert.
            if not self._failing:
                log.exception("a notification to %s could not be made", self._name)
            ours = NotAccepted(f"an error of the monitor itself, {type(why).__name__}")
            self._note("failed", ours)
            raise ours from None
        self._note("sent", None)

    def _note(self, outcome: str, why: Exception | None) -> None:
        if self._told is not None:
            self._told.notified(outcome)
        if why is not None and not self._failing:
            log.warning("%s accepts no notification (%s); trying again until it does", self._name, why)
        if why is None and self._failing:
            log.warning("%s answers again", self._name)
        self._failing = why is not None
