"""One worker as a member of its group: Kafka's group client, with Connect's way of losing the coordinator.

It joins, leads if it is told to, asks for its assignment, and sends heartbeats from a thread of their own. A worker
that finds no coordinator for longer than the heartbeat interval gives its jobs up, keeps its member id, and joins again
with nothing as soon as there is one.
"""

from abc import abstractmethod
from collections.abc import Sequence

from lab.simulated.coordinator import Coordinator
from lab.simulated.herder import Herder
from lab.simulated.messages import Client, Error, Joined, Refused, Synced
from lab.simulated.queue import Queue, Step


class Member(Herder):
    """The group client; what it offers, how it leads and what it does with an assignment is the worker's."""

    def __init__(self, queue: Queue, coordinator: Coordinator, client: Client, heartbeat_ms: int) -> None:
        super().__init__(queue)
        self.coordinator, self.client, self._heartbeat_ms = coordinator, client, heartbeat_ms
        self.member_id = ""
        self.generation = -1
        self.loses_sync = False
        self._rejoin = "first join"
        self._joining = False
        self._known = True
        self._attempt = 0

    # -- of the worker -------------------------------------------------------------------------------------------

    @abstractmethod
    def _offers(self) -> Sequence[tuple[str, bytes]]:
        """Protocol names with their blobs, taken now."""

    @abstractmethod
    def _assign(self, joined: Joined) -> dict[str, bytes]:
        """As leader: everybody's assignment."""

    @abstractmethod
    def _complete(self, blob: bytes, joined: Joined) -> None:
        """The assignment has come."""

    @abstractmethod
    def _abandon(self) -> None:
        """There has been no coordinator for too long."""

    @abstractmethod
    def note(self, what: str) -> None:
        """For the truth."""

    # -- joining -------------------------------------------------------------------------------------------------

    def _ask_to_rejoin(self, why: str) -> None:
        self._rejoin = self._rejoin or why
        self.wake()

    def _send_join(self, why: str) -> None:
        self._attempt += 1
        attempt = self._attempt
        protocols = self._offers()
        member_id, client = self.member_id, self.client
        answer = self.answer(lambda reply: self._in_turn(attempt, lambda: self._join_answered(reply, why)))
        self.queue.after(self.queue.trip(), lambda: self.coordinator.join(member_id, client, protocols, why, answer))

    def _in_turn(self, attempt: int, step: Step) -> None:
        """A reply to the attempt to join that still counts; it waits while the herder is occupied."""

        def counted() -> None:
            if attempt == self._attempt and not self.leaving:
                step()

        if self._busy:
            self._replies.append(counted)
        else:
            counted()

    def _join_answered(self, reply: object, why: str) -> None:
        match reply:
            case Refused(Error.MEMBER_ID_REQUIRED, fresh):
                self.member_id = fresh
                self._send_join(why)
            case Joined():
                self.generation, self.member_id = reply.generation, reply.member_id
                if reply.members or reply.leader == reply.member_id:
                    self.later(
                        self.queue.between(2, 60), lambda: self._in_turn(self._attempt, lambda: self._lead(reply))
                    )
                else:
                    self._sync(reply, None)
            case _:
                self._forget_membership()
                self._send_join(why)

    def _lead(self, joined: Joined) -> None:
        self._sync(joined, self._assign(joined))

    def _sync(self, joined: Joined, answers: dict[str, bytes] | None) -> None:
        attempt, generation, member_id = self._attempt, joined.generation, joined.member_id

        def receive(reply: object) -> None:
            if self.loses_sync and isinstance(reply, Synced):
                self.loses_sync = False
                self.note("lost its sync")
                self.later(self.queue.between(30, 1_500), lambda: self._in_turn(attempt, self._join_again))
            else:
                self._in_turn(attempt, lambda: self._sync_answered(reply, joined))

        self.queue.after(
            self.queue.trip(),
            lambda: self.coordinator.sync(member_id, generation, answers, self.answer(receive)),
        )

    def _join_again(self) -> None:
        self._send_join("sync failed")

    def _sync_answered(self, reply: object, joined: Joined) -> None:
        match reply:
            case Synced(blob):
                self._joining = False
                self._complete(blob, joined)
            case Refused(Error.REBALANCE_IN_PROGRESS):
                self._send_join("rebalance in progress")
            case Refused(Error.ILLEGAL_GENERATION):
                self._send_join("illegal generation")
            case _:
                self._forget_membership()
                self._send_join("unknown")

    def _forget_membership(self) -> None:
        self.member_id, self.generation = "", -1

    # -- heartbeats ----------------------------------------------------------------------------------------------

    def _beat(self) -> None:
        self.later(self._heartbeat_ms, self._beat)
        if self.leaving or not self.member_id or self._joining or not self._known or self.generation < 0:
            return
        if self._busy and self.queue.now_ms - self._busy_since_ms > self.client.rebalance_ms:
            member_id = self.member_id
            self._forget_membership()
            self._rejoin = self._rejoin or "poll timeout"
            self.queue.after(self.queue.trip(), lambda: self.coordinator.leave(member_id))
            return
        member_id, generation = self.member_id, self.generation
        answer = self.answer(lambda reply: self._beaten(reply, member_id))
        self.queue.after(self.queue.trip(), lambda: self.coordinator.heartbeat(member_id, generation, answer))

    def _beaten(self, reply: object, member_id: str) -> None:
        if self._joining or member_id != self.member_id:
            return
        match reply:
            case Refused(Error.REBALANCE_IN_PROGRESS):
                self._ask_to_rejoin("rebalance in progress")
            case Refused(Error.ILLEGAL_GENERATION):
                self._ask_to_rejoin("illegal generation")
            case Refused():
                self._forget_membership()
                self._ask_to_rejoin("unknown member")
            case _:
                pass

    # -- the coordinator is gone ---------------------------------------------------------------------------------

    def lose_coordinator(self) -> None:
        """Its connection is closed; it looks for another, and gives its jobs up if there is none for too long."""
        if not self._known or self.leaving:
            return
        self._known = False
        if self._joining:
            self._attempt += 1
            self._joining = False
            self._rejoin = self._rejoin or "coordinator lost"
        self.later(self._heartbeat_ms, self._give_up)

    def _give_up(self) -> None:
        if self._known or self.leaving:
            return
        if self._busy:
            self.later(50, self._give_up)
            return
        self._abandon()

    def find_coordinator(self) -> None:
        """Another broker answers for the group."""
        if not self._known:
            self._known = True
            self.wake()
