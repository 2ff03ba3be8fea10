"""What the documents of a Connect group tell of what is configured, of the leader's delay, and of leaders' memories.

A leader's memory is in no record. An answer without a delay and without revocations determines it (connect.md 5.4); the
rounds since then are run again, and the memory is known if they give what the records show.

    generation 7   leader A: nothing revoked, no delay      A remembers what everybody has
    generation 8   leader A: a worker is gone, delay        run again: the same answer, so A's window is known
    generation 9   leader B, which never led before         B's process remembers nothing
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rebalance_monitor.assignors.connect import incremental
from rebalance_monitor.assignors.connect.eras import Era
from rebalance_monitor.assignors.connect.model import (
    ConfigSnapshot,
    ConnectMember,
    ConnectResult,
    ConnectRound,
    Jobs,
    LeaderMemory,
    MemberShare,
)
from rebalance_monitor.assignors.connect.round import CannotAssign
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.advice.cluster import FIRST_OFFSET, reported
from rebalance_monitor.streaming.core.connect.member_bytes import connect_share_of
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask
from rebalance_monitor.streaming.stories.known import Published


def jobs_of(share: Published | None) -> Jobs:
    """A published share, in its order."""
    read = connect_share_of(share)
    return Jobs() if read is None else Jobs(read.connectors, read.tasks)


def hands(generation: Published, java_version: int) -> dict[str, Jobs]:
    """What each member reports when it joins next."""
    return {
        one["member_id"]: reported(
            jobs_of(one["owned"]), MemberShare(jobs_of(one["assigned"]), jobs_of(one["revoked"])), java_version
        )
        for one in generation["members"]
    }


def configured(generation: Published) -> dict[str, int]:
    """Tasks by connector: what members hold, and what the record leaves without a holder."""
    counts: dict[str, int] = {}
    for jobs in hands(generation, 17).values():
        for name in jobs.connectors:
            _count(counts, name)
        for task in jobs.tasks:
            _count(counts, task)
    waiting = (generation.get("wait") or {}).get("subjects", ())
    open_names = {one["id"] for one in waiting if one["type"] == "connector"}
    names = [*generation.get("unassigned", ()), *(one["id"] for one in waiting)]
    known = {*counts, *open_names, *(name for name in names if name.rpartition("-")[0] not in counts)}
    for name in names:
        connector, _, number = name.rpartition("-")
        if connector in known and number.isdigit() and name not in open_names:
            _count(counts, (connector, int(number)))
        else:
            _count(counts, name)
    return counts


def _count(counts: dict[str, int], job: ConnectorOrTask) -> None:
    name, least = (job, 0) if isinstance(job, str) else (job[0], job[1] + 1)
    counts[name] = max(counts.get(name, 0), least)


def shown_max_delay_ms(generations: Sequence[Published]) -> int | None:
    """The maximum delay by the last wait for a worker that began in these; None where there was none."""
    for one in generations:
        wait = one.get("wait")
        if wait is not None and wait["since_ms"] == one["at_ms"] and wait["until_ms"] is not None:
            return int(wait["until_ms"] - wait["since_ms"])
    return None


@dataclass(frozen=True, slots=True)
class Mind:
    """What a member's process remembers, and why that is not certain ("" where it is)."""

    memory: LeaderMemory
    doubt: str = ""


def mind_of(member_id: str, generations: Sequence[Published], era: Era, max_delay_ms: int, java_version: int) -> Mind:
    """What this member's process remembers after the newest of these generations (the newest first)."""
    led = [place for place, one in enumerate(generations) if one["leader"] == member_id]
    if not led:
        joined = any(all(m["member_id"] != member_id for m in one["members"]) for one in generations)
        whole = joined or (bool(generations) and generations[-1]["generation"] == 1)
        return Mind(
            LeaderMemory(),
            "" if whole else "Who leads next may have led before the generations that are known, and remember that.",
        )
    first = last = led[0]
    while not calm(generations[first]) and _led_on(generations, first, member_id):
        first += 1
    if calm(generations[first]) and generations[first]["verdict"]["grade"] == "match":
        memory, rounds, doubt = settled_memory(generations[first]), range(first - 1, last - 1, -1), ""
    else:
        fresh = not _led_on(generations, first, member_id) and len(led) == first - last + 1
        doubt = "" if fresh and first + 1 < len(generations) else "What the leader remembers is in no record."
        memory, rounds = LeaderMemory(), range(first, last - 1, -1)
    for place in rounds:
        before = generations[place + 1] if place + 1 < len(generations) else None
        again = _again(memory, generations[place], before, era, max_delay_ms, java_version)
        if again is None:
            return Mind(
                memory,
                f"Generation {generations[place]['generation']} shows that the leader remembered something else.",
            )
        memory = again
    return Mind(memory, doubt)


def _led_on(generations: Sequence[Published], place: int, member_id: str) -> bool:
    """Whether it led the generation before, too, and no generation is missing between."""
    if place + 1 >= len(generations):
        return False
    now, before = generations[place], generations[place + 1]
    return bool(before["leader"] == member_id and before["generation"] + 1 == now["generation"])


def calm(generation: Published) -> bool:
    """No delay runs, and nobody has to give up anything."""
    return not generation.get("delay_ms") and not any(jobs_of(one["revoked"]) for one in generation["members"])


def settled_memory(generation: Published) -> LeaderMemory:
    """The memory after an answer without a delay and without revocations."""
    everything = hands(generation, 17).values()
    return LeaderMemory(
        previous=Jobs(
            tuple(sorted({name for jobs in everything for name in jobs.connectors})),
            tuple(sorted({task for jobs in everything for task in jobs.tasks})),
        ),
        previous_generation=generation["generation"],
        previous_members=frozenset(one["member_id"] for one in generation["members"]),
    )


def _again(
    memory: LeaderMemory,
    generation: Published,
    before: Published | None,
    era: Era,
    max_delay_ms: int,
    java_version: int,
) -> LeaderMemory | None:
    """The memory after this round, run again; None where it gives another answer than the record shows."""
    counts = configured(generation)
    round_ = ConnectRound(
        now_ms=generation["state_ms"] or generation["at_ms"],
        generation=generation["generation"],
        last_completed_generation=-1 if before is None else before["generation"],
        protocol=generation["protocol"],
        leader=generation["leader"],
        config=ConfigSnapshot(FIRST_OFFSET, counts),
        members=tuple(
            ConnectMember(id=one["member_id"], url="", config_offset=FIRST_OFFSET, held=jobs_of(one["owned"]))
            for one in generation["members"]
        ),
    )
    try:
        result, after = incremental.assign(
            memory, round_, max_delay_ms=max_delay_ms, era=era, java_version=java_version
        )
    except CannotAssign:
        return None
    if not recorded(result, generation):
        return None
    delay_ms = generation.get("delay_ms") or 0
    if not after.scheduled_ms:
        return after
    # The leader's clock stood where the delay that it announced says.
    return replace(after, scheduled_ms=round_.now_ms + delay_ms, delay_ms=delay_ms)


def recorded(result: ConnectResult, generation: Published) -> bool:
    """Whether the record shows this answer. Delays are compared as there or not: clocks differ."""
    return bool(result.delay_ms) == bool(generation.get("delay_ms")) and set(_shares(generation)) == {
        (name, _sorted(share.assigned), _sorted(share.revoked)) for name, share in result.shares.items()
    }


_Sorted = tuple[tuple[str, ...], tuple[tuple[str, int], ...]]


def _shares(generation: Published) -> Iterator[tuple[str, _Sorted, _Sorted]]:
    for one in generation["members"]:
        yield one["member_id"], _sorted(jobs_of(one["assigned"])), _sorted(jobs_of(one["revoked"]))


def _sorted(jobs: Jobs) -> _Sorted:
    return tuple(sorted(jobs.connectors)), tuple(sorted(jobs.tasks))


def readable(generation: Published) -> bool:
    """Whether the bytes of every member could be read."""
    members: Sequence[Mapping[str, object]] = generation["members"]
    return all(one["assigned"] is not None and one["owned"] is not None for one in members)
