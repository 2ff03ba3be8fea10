"""The classic group coordinator of one group (coordinator-log.md part 5).

    EMPTY -> PREPARING -> COMPLETING -> STABLE      members join; generation + 1, answers; the leader's assignment; done

A record is written when the leader's assignment arrives, and when the last member is gone. Members are kept in Java's
hash map, whose order is that of the leader's list and of the record. A new member is first given an id and has to come
again with it. Whoever misses the join phase is out. The state lives in the memory of one broker: when another takes
over, it knows what the last record says, and nothing of a round in flight.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from uuid import UUID

from lab.simulated.log import Log
from lab.simulated.messages import Answer, Client, Error, Joined, Refused, Synced
from lab.simulated.queue import Queue
from lab.simulated.table import Seat, Table
from lab.simulated.truth import Round, Truth
from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC

CONNECT = "connect"


class State(Enum):
    """Of the group."""

    EMPTY = auto()
    PREPARING = auto()
    COMPLETING = auto()
    STABLE = auto()


class Coordinator:
    """One group. Requests have arrived when these methods are called; `answer` is called when the reply leaves."""

    def __init__(
        self,
        queue: Queue,
        log: Log,
        truth: Truth,
        group: str,
        *,
        partition: int = 0,
        initial_delay_ms: int = 3_000,
        version: int = 3,
        writes_shell: bool = True,
    ) -> None:
        self._queue, self._log, self._truth = queue, log, truth
        self.group, self._partition, self._version = group, partition, version
        self._key = b"\x00\x02" + len(group.encode()).to_bytes(2, "big") + group.encode()
        self._initial_delay_ms, self._writes_shell = initial_delay_ms, writes_shell
        self.broker = 1
        self.reachable = True
        self.state = State.EMPTY
        self.generation = 0
        self.protocol = ""
        self.leader = ""
        self._table = Table()
        self._pending: set[str] = set()
        self._state_ms = 0
        self._begun = False
        self._round = 0  # changes whenever what was scheduled for a phase no longer counts
        self._epoch = 0  # changes with every broker that takes over
        self._reasons: list[str] = []
        self._stored: GroupMetadata | None = None
        self._initial_until_ms = 0.0
        self._initial_left_ms = 0.0
        self._newcomers = False

    @property
    def clock(self) -> str:
        """Of the broker that stamps the group's records now."""
        return f"broker:{self.broker}"

    @property
    def members(self) -> Mapping[str, Seat]:
        """Known member ids."""
        return self._table.members

    # -- requests ------------------------------------------------------------------------------------------------

    def join(
        self, member_id: str, client: Client, protocols: Sequence[tuple[str, bytes]], why: str, answer: Answer
    ) -> None:
        """JoinGroup; `why` is for the truth."""
        if not self.reachable:
            return
        if not self._begun:
            self._begun = True
            if self._writes_shell:
                self._write(GroupMetadata(version=self._version, protocol_type="", generation=0, protocol=None,
                                          leader=None, state_ms=int(self._queue.now_ms)))  # fmt: skip
        if not member_id:
            fresh = f"{client.client_id}-{UUID(int=self._queue.random.getrandbits(128), version=4)}"
            self._pending.add(fresh)
            self._queue.after(client.session_ms, self._still(lambda: self._forget_pending(fresh)))
            answer(Refused(Error.MEMBER_ID_REQUIRED, fresh))
        elif member_id in self._pending:
            self._pending.discard(member_id)
            self._add(Seat(member_id, client, tuple(protocols), joining=answer), why)
        elif member_id not in self._table.members:
            answer(Refused(Error.UNKNOWN_MEMBER_ID))
        else:
            self._rejoin(self._table.members[member_id], tuple(protocols), why, answer)

    def _add(self, member: Seat, why: str) -> None:
        self._table.put(member)
        self._newcomers = True
        if not self.leader:
            self.leader = member.id
        self._prepare(f"joined: {member.id} ({why})")

    def _rejoin(self, member: Seat, protocols: Sequence[tuple[str, bytes]], why: str, answer: Answer) -> None:
        changed = protocols != member.protocols
        self._heard(member)
        match self.state:
            case State.STABLE if member.id != self.leader and not changed:
                answer(Joined(self.generation, member.id, self.leader, self.protocol))
                return
            case State.COMPLETING if not changed:
                answer(self._joined(member))
                return
            case _:
                member.protocols, member.joining = protocols, answer
                self._prepare(f"rejoined: {member.id} ({why})")

    def sync(self, member_id: str, generation: int, assignments: Mapping[str, bytes] | None, answer: Answer) -> None:
        """SyncGroup; `assignments` from the leader alone."""
        if not self.reachable:
            return
        member = self._table.members.get(member_id)
        if member is None:
            answer(Refused(Error.UNKNOWN_MEMBER_ID))
            return
        if generation != self.generation:
            answer(Refused(Error.ILLEGAL_GENERATION))
            return
        self._heard(member)
        match self.state:
            case State.STABLE:
                answer(Synced(member.assignment))
            case State.COMPLETING:
                member.syncing = answer
                if assignments is not None and member_id == self.leader:
                    self._assigned(assignments)
            case _:
                answer(Refused(Error.REBALANCE_IN_PROGRESS))

    def heartbeat(self, member_id: str, generation: int, answer: Answer) -> None:
        """A sign of life."""
        if not self.reachable:
            return
        member = self._table.members.get(member_id)
        if member is None or self.state is State.EMPTY:
            answer(Refused(Error.UNKNOWN_MEMBER_ID))
        elif generation != self.generation:
            answer(Refused(Error.ILLEGAL_GENERATION))
        else:
            self._heard(member)
            answer(Refused(Error.REBALANCE_IN_PROGRESS) if self.state is State.PREPARING else None)

    def leave(self, member_id: str) -> None:
        """LeaveGroup."""
        if self.reachable and member_id in self._table.members:
            self._remove(member_id, f"left: {member_id}")
        elif self.reachable:
            self._forget_pending(member_id)

    # -- sessions ------------------------------------------------------------------------------------------------

    def _heard(self, member: Seat) -> None:
        member.deadline_ms = self._queue.now_ms + member.client.session_ms
        self._watch(member.id, member.deadline_ms)

    def _watch(self, member_id: str, deadline_ms: float) -> None:
        def look() -> None:
            member = self._table.members.get(member_id)
            if member is None or member.deadline_ms > deadline_ms or member.joining is not None:
                return
            if member.syncing is None:
                self._remove(member_id, f"lost: {member_id}")

        self._queue.at(deadline_ms, self._still(look))

    def _still(self, step: Callable[[], None]) -> Callable[[], None]:
        """The step, if the same broker is still the coordinator then."""
        epoch = self._epoch

        def guarded() -> None:
            if epoch == self._epoch:
                step()

        return guarded

    def _remove(self, member_id: str, reason: str) -> None:
        del self._table.members[member_id]
        if member_id == self.leader:
            self.leader = next((one.id for one in self._table.ordered()), "")
        if self.state in (State.STABLE, State.COMPLETING):
            self._prepare(reason)
        elif self.state is State.PREPARING:
            self._reasons.append(reason)
            self._maybe_complete()

    def _forget_pending(self, member_id: str) -> None:
        if member_id in self._pending:
            self._pending.discard(member_id)
            if self.state is State.PREPARING:
                self._maybe_complete()

    # -- the join phase ------------------------------------------------------------------------------------------

    def _prepare(self, reason: str) -> None:
        self._reasons.append(reason)
        if self.state is State.PREPARING:
            self._maybe_complete()
            return
        if self.state is State.COMPLETING:
            for member in self._table.members.values():
                if member.syncing is not None:
                    asked, member.syncing = member.syncing, None
                    asked(Refused(Error.REBALANCE_IN_PROGRESS))
                    self._heard(member)
        initial = self.state is State.EMPTY
        self.state = State.PREPARING
        self._round += 1
        longest_ms = max((one.client.rebalance_ms for one in self._table.members.values()), default=0)
        if initial:
            self._initial_left_ms = max(longest_ms - self._initial_delay_ms, 0)
            self._initial_until_ms = self._queue.now_ms + self._initial_delay_ms
            self._newcomers = False
            self._queue.at(self._initial_until_ms, self._phase(self._initial_over))
        else:
            self._initial_until_ms = 0.0
            self._queue.after(longest_ms, self._phase(self._complete))
            self._maybe_complete()

    def _phase(self, step: Callable[[], None]) -> Callable[[], None]:
        begun = self._round

        def guarded() -> None:
            if begun == self._round:
                step()

        return self._still(guarded)

    def _initial_over(self) -> None:
        if self._newcomers and self._initial_left_ms > 0:
            more_ms = min(self._initial_delay_ms, self._initial_left_ms)
            self._initial_left_ms -= more_ms
            self._newcomers = False
            self._initial_until_ms = self._queue.now_ms + more_ms
            self._queue.at(self._initial_until_ms, self._phase(self._initial_over))
        else:
            self._initial_until_ms = 0.0
            self._complete()

    def _maybe_complete(self) -> None:
        if self._initial_until_ms or self._pending:
            return
        if all(one.joining is not None for one in self._table.members.values()):
            self._complete()

    def _complete(self) -> None:
        self._round += 1
        for member in [one for one in self._table.members.values() if one.joining is None]:
            del self._table.members[member.id]
            self._reasons.append(f"missed the join phase: {member.id}")
        now_ms = int(self._queue.now_ms)
        self.generation += 1
        self._state_ms = now_ms
        reasons, self._reasons = tuple(self._reasons), []
        members = self._table.ordered()
        if not members:
            self.state, self.leader, self.protocol = State.EMPTY, "", ""
            empty = GroupMetadata(version=self._version, protocol_type=CONNECT, generation=self.generation,
                                  protocol=None, leader=None, state_ms=now_ms)  # fmt: skip
            offset = self._write(empty)
            self._truth.rounds.append(Round(self.generation, "", now_ms, reasons, recorded=True, offset=offset))
            return
        self.state = State.COMPLETING
        if self.leader not in self._table.members:
            self.leader = members[0].id
        self.protocol = self._chosen(members)
        self._truth.rounds.append(Round(self.generation, self.leader, now_ms, reasons))
        longest_ms = max(one.client.rebalance_ms for one in members)
        self._queue.after(longest_ms, self._phase(self._sync_overdue))
        for member in members:
            answer, member.joining = member.joining, None
            if answer is not None:
                answer(self._joined(member))
            self._heard(member)

    def _joined(self, member: Seat) -> Joined:
        listed: tuple[tuple[str, bytes], ...] = ()
        if member.id == self.leader:
            listed = tuple((one.id, dict(one.protocols)[self.protocol]) for one in self._table.ordered())
        return Joined(self.generation, member.id, self.leader, self.protocol, listed)

    def _chosen(self, members: Sequence[Seat]) -> str:
        common = set.intersection(*({name for name, _ in one.protocols} for one in members))
        return next(name for name, _ in members[0].protocols if name in common)

    def _sync_overdue(self) -> None:
        silent = [one.id for one in self._table.members.values() if one.syncing is None]
        for member_id in silent:
            self._table.members.pop(member_id)
        if self.leader not in self._table.members:
            self.leader = next((one.id for one in self._table.ordered()), "")
        self._prepare("never synced: " + ", ".join(silent))

    # -- the assignment ------------------------------------------------------------------------------------------

    def _assigned(self, assignments: Mapping[str, bytes]) -> None:
        members = []
        for member in self._table.ordered():
            member.assignment = assignments.get(member.id, b"")
            members.append(
                GroupMember(
                    member_id=member.id,
                    client_id=member.client.client_id,
                    client_host=member.client.host,
                    rebalance_timeout_ms=member.client.rebalance_ms,
                    session_timeout_ms=member.client.session_ms,
                    subscription=dict(member.protocols)[self.protocol],
                    assignment=member.assignment,
                )
            )
        value = GroupMetadata(
            version=self._version,
            protocol_type=CONNECT,
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            state_ms=self._state_ms,
            members=tuple(members),
        )
        offset = self._write(value)
        self._truth.rounds[-1] = replace(self._truth.rounds[-1], recorded=True, offset=offset)
        self._queue.after(self._queue.between(0.5, 6.0), self._phase(self._replicated))

    def _replicated(self) -> None:
        if self.state is not State.COMPLETING:
            return
        self.state = State.STABLE
        self._round += 1
        for member in self._table.ordered():
            answer, member.syncing = member.syncing, None
            if answer is not None:
                answer(Synced(member.assignment))
                self._heard(member)

    def _write(self, value: GroupMetadata) -> int:
        self._stored = value
        return self._log.append(
            OFFSETS_TOPIC, self._partition, self._queue.now_ms, self.clock, self._key, None, group=value
        )

    # -- brokers -------------------------------------------------------------------------------------------------

    def go_down(self) -> None:
        """The broker ends; what only it knew is gone."""
        self.reachable = False
        self._epoch += 1
        self._round += 1

    def come_up(self, broker: int) -> None:
        """A broker loads the group's partition: the last record, every session from its start."""
        self.broker, self.reachable = broker, True
        self._epoch += 1
        self._round += 1
        self._pending.clear()
        self._reasons = [f"coordinator moved: broker {broker}"]
        stored = self._stored
        self._table = Table()
        if stored is None:
            self.state = State.EMPTY
            return
        self.generation, self.leader, self.protocol = stored.generation, stored.leader or "", stored.protocol or ""
        self.state = State.STABLE if stored.members else State.EMPTY
        for known in stored.members:
            client = Client(known.client_id, known.client_host, known.session_timeout_ms, known.rebalance_timeout_ms)
            # The log keeps the blob of the chosen protocol alone: whoever joins again is taken for changed.
            protocols = ((self.protocol, known.subscription),)
            member = Seat(known.member_id, client, protocols, assignment=known.assignment)
            self._table.put(member)
            self._heard(member)
