"""One worker process: what Connect's `DistributedHerder` and `WorkerCoordinator` do, and in which order.

Between two looks of the herder: take up what the config store has read; join where that is asked for; resolve the
rebalance that has come (connect.md 3.10): read the config topic up to the assignment's offset, start what is new, and
join again if it has read further, has revoked something, or the delay is over.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lab.simulated.allocation import Stated, folded, jobs_of, offers, revoked_of
from lab.simulated.config import Entry, Kind, Reader, View, Wanted
from lab.simulated.jobs import Jobs, name_of
from lab.simulated.leader import Asked, Leader
from lab.simulated.member import Member
from lab.simulated.messages import Client, Joined
from lab.simulated.queue import Step
from lab.simulated.world import World
from lab.simulated_group.protocol import EAGER, NO_JOBS, Job, Mode
from rebalance_monitor.assignors.connect.eras import parse_release
from rebalance_monitor.assignors.connect.model import Jobs as JobSet
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, decode_assignment
from rebalance_monitor.schemas.outcomes import Decoded

NEVER = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """How a worker is started."""

    release: str = "4.3.1"
    java_version: int = 17
    mode: Mode = Mode.SESSIONED
    max_delay_ms: int = 300_000
    session_ms: int = 10_000
    heartbeat_ms: int = 3_000
    rebalance_ms: int = 60_000
    static: JobSet = field(default_factory=lambda: NO_JOBS)


class Worker(Member, Reader):
    """A process of this life; a restart is another one at the same address."""

    def __init__(self, world: World, host: str, incarnation: int, settings: WorkerSettings) -> None:
        self.world, self.host, self.settings = world, host, settings
        self.address = f"{host}:8083"
        self.clock = f"worker:{host}"
        self.name = f"{host}#{incarnation}"
        # Before 3.7 the default name counts the clients of the process: every worker is called connect-1.
        client_id = f"connect-{self.address}" if parse_release(settings.release) >= (3, 7, 0) else "connect-1"
        client = Client(client_id, f"/{host}", settings.session_ms, settings.rebalance_ms)
        super().__init__(world.queue, world.coordinator, client, settings.heartbeat_ms)
        self.stated = Stated(
            f"http://{self.address}/", settings.release, settings.java_version, settings.mode, settings.static
        )
        self.view = View(settings.release)
        self.leader = Leader(settings.release, settings.max_delay_ms, settings.java_version, armed=world.armed)
        self.jobs = Jobs(self, self.name, self.address, self.clock, settings.release, world.status, world.truth)
        self.protocol = ""
        self.held: ConnectAssignment | None = None
        self.last_completed = -1
        self.ignores_revocations = False
        self._herder_view = self.view.snapshot
        self._joined_with = self.view.snapshot
        self._updates: list[Entry] = []
        self._needs_rebalance = False
        self._resolved = True
        self._scheduled_ms = NEVER
        self._to_restart: set[Job] = set()
        self._suspended: list[Job] = []

    @property
    def leads(self) -> bool:
        """Whether it leads, as far as it knows."""
        return self.held is not None and self.held.leader == self.member_id != ""

    # -- life ----------------------------------------------------------------------------------------------------

    def note(self, what: str) -> None:
        """For the truth."""
        self.world.truth.note(self.queue.now_ms, what, self.name)

    def start(self) -> None:
        """The process has read its topics to the end and joins the group."""
        self.told_at_start()
        self.world.config.on_append.append(self)
        self._known = self.world.coordinator.reachable
        self.later(self.queue.between(1, 10), self.wake)
        self.later(self.queue.between(0.3, 1.0) * self.settings.heartbeat_ms, self._beat)

    def told_at_start(self) -> None:
        """Read the config topic to its end; that is no news to the herder."""
        for entry in self.world.config.entries[self.view.read :]:
            self.view.take(entry)
        self._herder_view = self.view.snapshot

    def kill(self) -> None:
        """SIGKILL: nothing more comes of it."""
        self._end("killed")

    def stop(self) -> None:
        """SIGTERM: it stops its jobs, leaves the group and ends."""
        self.leaving = True
        self.note("stops")
        self.jobs.stop(list(self.jobs.running), self._left)

    def _left(self) -> None:
        if self.member_id:
            member_id = self.member_id
            self.queue.after(self.queue.trip(), lambda: self.world.coordinator.leave(member_id))
        self._end("ended")

    def _end(self, how: str) -> None:
        self.note(how)
        self.world.truth.died(self.name, self.queue.now_ms)
        self.ended = True
        if self in self.world.config.on_append:
            self.world.config.on_append.remove(self)

    def freeze(self) -> None:
        """SIGSTOP: nothing runs in it, and the group hears nothing of it."""
        self.note("frozen")
        self._suspended = self.world.truth.stopped(self.name, self.queue.now_ms)
        self.hold()

    def thaw(self) -> None:
        """SIGCONT: its jobs run again, and it does not know yet what has happened."""
        if self.ended:
            return
        self.note("thawed")
        for job in self._suspended:
            self.world.truth.began(job, self.name, self.queue.now_ms)
        self.go_on()

    # -- the config topic ----------------------------------------------------------------------------------------

    def told(self) -> None:
        slow = self.queue.random.random() < 0.03
        lag_ms = self.queue.between(40, 500) if slow else self.queue.between(1, 15)
        upto = len(self.world.config.entries)
        self.later(lag_ms, lambda: self._read(upto))

    def _read(self, upto: int) -> None:
        """The store's thread reads; what matters wakes the herder."""
        for entry in self.world.config.entries[self.view.read : upto]:
            new = entry.name not in self.view.configs
            self.view.take(entry)
            match entry.kind:
                case Kind.CONNECTOR if new:
                    self._needs_rebalance = True
                case Kind.REMOVED:
                    self._needs_rebalance = True
                case Kind.COMMIT if entry.name in self.view.configs:
                    self._needs_rebalance = True
                    self._updates.append(entry)
                case Kind.CONNECTOR:
                    self._updates.append(entry)
                case Kind.TARGET if entry.state is not None:
                    self._updates.append(entry)
                case _:
                    continue
            self.wake()

    def _catch_up(self, then: Step) -> None:
        """Read the topic to its end, while the herder waits."""
        self._occupied()

        def done() -> None:
            self._read(len(self.world.config.entries))
            self._herder_view = self.view.snapshot
            self._free(then)

        self.later(self.queue.between(3, 30), done)

    # -- the herder's thread -------------------------------------------------------------------------------------

    def _stop(self, jobs: list[Job], then: Step, *, silent: bool = False) -> None:
        self._occupied()
        self.jobs.stop(jobs, lambda: self._free(then), silent=silent)

    def restart(self, job: Job) -> None:
        """Stop and start one job, as REST asks for it."""
        if job in self.jobs.running:
            self._stop([job], lambda: self._start(job))

    # -- between two looks ---------------------------------------------------------------------------------------

    def _take_up_updates(self) -> bool:
        """Config changes since the last look; whether the herder is occupied with them."""
        if not (self._needs_rebalance or self._updates):
            return False
        self._herder_view = self.view.snapshot
        updates, self._updates = self._updates, []
        if self._needs_rebalance:
            self._needs_rebalance = False
            self._ask_to_rejoin("config")
        mine = set(jobs_of(self.held))
        bounced = [one.name for one in updates if one.kind is Kind.CONNECTOR and one.name in mine]
        for entry in updates:
            if entry.kind is Kind.TARGET:
                self._aim(entry.name)
        committed = {one.name for one in updates if one.kind is Kind.COMMIT}
        tasks: list[Job] = [job for job in self.jobs.running if not isinstance(job, str) and job[0] in committed]
        if not bounced and not tasks:
            return False
        if self.protocol != EAGER:
            self._to_restart.update(tasks)
        else:
            tasks = []
        running: list[Job] = [name for name in bounced if name in self.jobs.running]
        self._stop([*running, *tasks], lambda: self._restart(running))
        return True

    def _restart(self, connectors: list[Job]) -> None:
        for job in connectors:
            if name_of(job) in self.view.configs:
                self._start(job)

    def _aim(self, name: str) -> None:
        self.jobs.aim(name, self.view)
        if name in self.jobs.running and self.view.targets.get(name) == "STARTED":
            self._want_tasks(name)

    def _go_on(self) -> None:
        if self._joining or not self._known:
            return
        if self._rejoin or self.held is None or self.held.error:
            self._join()
        elif not self._resolved:
            self._resolve()

    # -- the group -----------------------------------------------------------------------------------------------

    def _join(self) -> None:
        why = self._rejoin or ("given up" if self.held is None else "error")
        self._joining = True
        if self.protocol == EAGER and self.held is not None and not self.held.error and self._resolved:
            self._stop(list(jobs_of(self.held)), lambda: self._send_join(why))
        else:
            self._send_join(why)

    def _offers(self) -> Sequence[tuple[str, bytes]]:
        self._joined_with = self.view.snapshot
        return offers(self.stated, self._joined_with.offset, self.held)

    def _assign(self, joined: Joined) -> dict[str, bytes]:
        asked = Asked(int(self.queue.now_ms), joined.generation, joined.member_id, joined.protocol, joined.members)
        answers = self.leader.assign(asked, self._joined_with, self.view.snapshot, self.last_completed)
        self.world.led(self.leader, joined.generation)
        return answers

    def _abandon(self) -> None:
        if self.held is not None and not self.held.error:
            self.note("gave its jobs up")
            given_up, self.held = list(jobs_of(self.held)), None
            self._stop(given_up, lambda: None)

    def _complete(self, blob: bytes, joined: Joined) -> None:
        outcome = decode_assignment(blob)
        if not isinstance(outcome, Decoded):
            self._ask_to_rejoin("undecodable")
            return
        given = outcome.value
        self.protocol, self._rejoin = joined.protocol, ""
        if joined.protocol != EAGER and revoked_of(given):
            silent = self.ignores_revocations
            self._stop(list(revoked_of(given)), lambda: self._adopt(given, joined), silent=silent)
        else:
            self._adopt(given, joined)

    def _adopt(self, given: ConnectAssignment, joined: Joined) -> None:
        self.held = folded(self.held, given, joined.protocol)
        self.last_completed = self.jobs.generation = joined.generation
        self._scheduled_ms = self.queue.now_ms + given.delay_ms if given.delay_ms else NEVER
        if given.delay_ms:
            self.later(given.delay_ms + 1, self.wake)
        self._resolved = False
        if given.leader == joined.member_id:
            self.jobs.forget_removed(self._herder_view)
        self.wake()

    def _resolve(self) -> None:
        held = self.held
        assert held is not None
        if self.queue.now_ms >= self._scheduled_ms:
            self._scheduled_ms = NEVER
            self._ask_to_rejoin("delay over")
            return
        if self._herder_view.offset < held.config_offset:
            self._catch_up(self._go_on)
            return
        if self._herder_view.offset != held.config_offset:
            self._ask_to_rejoin("read further")
            return
        self._work(held)
        self._resolved = self._scheduled_ms == NEVER
        if revoked_of(held):
            self.held = replace(held, revoked_connectors=(), revoked_tasks=())
            self._ask_to_rejoin("revoked")

    def _work(self, held: ConnectAssignment) -> None:
        """Start what is held and does not run; restart what a commit has stopped."""
        mine = jobs_of(held)
        self._to_restart.clear()
        for job in mine:
            if job not in self.jobs.running and name_of(job) in self._herder_view.connectors:
                self._start(job)
        if self.leads and not self.view.has_session_key and self.protocol in ("sessioned", "static"):
            self.view.has_session_key = True
            self.later(self.queue.between(15, 60), lambda: self.world.config.session_key(self.clock))

    def _start(self, job: Job) -> None:
        self.jobs.hidden.discard(job)
        self.jobs.start(job, self.view)
        if isinstance(job, str):
            self._want_tasks(job)

    def _want_tasks(self, name: str) -> None:
        """The connector's instance says which tasks it wants; the leader writes them if they are not those of now."""
        wanted = self.view.configs.get(name)
        if wanted is not None and self.view.targets.get(name) != "STOPPED":
            self.later(
                self.queue.between(20, 250),
                lambda: self.world.leader_writes(lambda leader: leader.write_tasks(name, wanted)),
            )

    def write_tasks(self, name: str, wanted: Wanted) -> None:
        """As leader: put the tasks and commit them, unless they are there already."""
        if name not in self.view.configs or self.view.targets.get(name) == "STOPPED":
            return
        count = self.view.snapshot.connectors[name]
        if count == wanted.tasks and (not count or self.view.applied.get(name) == wanted):
            return
        self._occupied()
        self.world.config.tasks(self.clock, name, wanted)

        def commit() -> None:
            self.world.config.commit(self.clock, name, wanted.tasks)
            self.later(self.queue.between(2, 15), self._free)

        self.later(self.queue.between(10, 70), commit)
