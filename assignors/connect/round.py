"""What every Connect assignor settles first: which configuration counts, who leads, what is configured.

A leader may have read less of the config topic than some member. It then looks at its store once more, without waiting,
and if that is still behind it answers every member with CONFIG_MISMATCH and nothing else.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rebalance_monitor.assignors.java_order import sorted_names
from .model import ConfigSnapshot, ConnectResult, ConnectRound, Jobs, MemberShare, TaskId

NO_ERROR = 0
CONFIG_MISMATCH = 1


class CannotAssign(ValueError):
    """Kafka's leader throws here and sends no assignment; its memory stays as it was."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything the assignments of one round have in common; `snapshot` is None for CONFIG_MISMATCH."""

    version: int
    leader: str
    leader_url: str
    config_offset: int
    snapshot: ConfigSnapshot | None

    def mismatch(self, round_: ConnectRound, rests_on: Iterable[str] = ()) -> ConnectResult:
        """The answer that tells everybody to read the config topic and join again."""
        shares = {member.id: MemberShare() for member in round_.members}
        return self.result(shares, error=CONFIG_MISMATCH, rests_on=rests_on)

    def result(
        self,
        shares: Mapping[str, MemberShare],
        *,
        error: int = NO_ERROR,
        delay_ms: int = 0,
        order_unsure: bool = False,
        rests_on: Iterable[str] = (),
    ) -> ConnectResult:
        """One assignment per member under the common header."""
        return ConnectResult(
            version=self.version,
            error=error,
            leader=self.leader,
            leader_url=self.leader_url,
            config_offset=self.config_offset,
            delay_ms=delay_ms,
            shares=shares,
            order_unsure=order_unsure,
            rests_on=frozenset(rests_on),
        )


def open_answer(round_: ConnectRound, version: int) -> Answer:
    """Header of the round's answer, with the snapshot to assign from."""
    url = next((member.url for member in round_.members if member.id == round_.leader), None)
    if url is None:
        raise CannotAssign(f"leader {round_.leader!r} is not among the members")
    highest = max(member.config_offset for member in round_.members)
    if round_.config.offset >= highest:
        return Answer(version, round_.leader, url, highest, round_.config)
    fresh = round_.fresh_config or round_.config
    if fresh.offset < highest:
        return Answer(version, round_.leader, url, highest, None)
    return Answer(version, round_.leader, url, fresh.offset, fresh)


def configured_jobs(snapshot: ConfigSnapshot) -> Jobs:
    """All jobs that exist, connectors in Java's order and the tasks of each by number."""
    names = sorted_names(snapshot.connectors)
    tasks: list[TaskId] = []
    for name in names:
        tasks += [(name, number) for number in range(snapshot.connectors[name])]
    return Jobs(tuple(names), tuple(tasks))
