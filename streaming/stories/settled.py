"""Whether a group has come to rest, as a pipeline asks after a deployment: what is still waited for, and until when.

What is not known is waited for, and said so. Incidents are not looked at, but for those that say that nobody has a
partition or a task, and that a rebalance does not end: of a classic group no record says that one is under way.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rebalance_monitor.streaming.core.model.messages import counted, listed, utc
from .durations import duration
from .holdings import CONNECTOR, held
from .known import GroupFacts, Published, next_probing_ms

STABLE = "Stable"
MOST_NAMES = 5
AT_WORK = ("RUNNING", "PAUSED")
STOPPED = "STOPPED"
"""A connector may be stopped; then it has no tasks."""
LAG_HOLDS_MS = 300_000
"""A sample that is older says nothing of the lag now."""
STUCK = "stuck_rebalance"
UNOWNED = frozenset({"partition_without_owner", "streams_task_without_thread", "share_partition_without_member"})
_KINDS = {
    "failed": "FAILED",
    "unexpected": "where it should not be",
    "elsewhere": "run by another worker",
    "held_twice": "in several hands",
    "not_started": "not taken up yet",
    "unassigned": "without a worker",
    "unknown": "without a known status",
}


@dataclass(frozen=True, slots=True)
class Demand:
    """What is asked beside rest. `most_lag`: None where lag does not matter."""

    streams_warm: bool = False
    most_lag: int | None = None


@dataclass(frozen=True, slots=True)
class StillDue:
    """One thing that is waited for; `until_ms`: None where nobody knows how long."""

    text: str
    until_ms: int | None = None

    @property
    def sentence(self) -> str:
        return self.text if self.until_ms is None else f"{self.text}, until {utc(self.until_ms)}"


def waits_for(known: GroupFacts, jobs: Sequence[Published], demand: Demand) -> Iterator[StillDue]:
    """Everything that keeps the group from being at rest; `jobs`: the API's connectors and tasks of it."""
    latest = known.latest
    if latest is None:
        yield StillDue("no generation of the group is known")
        return
    status = known.group["status"]
    if status != STABLE:
        yield StillDue(f"the group is {status}" if status else "the group's state is not known")
    for one in known.open_incidents:
        if one["violation"]["rule"] == STUCK:
            yield StillDue(f"a rebalance does not end: {' '.join(one['violation']['message'].split())}")
    yield from _delay(known, latest)
    yield from _unassigned(known, latest)
    if latest["protocol_type"] == "connect" and known.group["members"]:
        yield from _statuses(latest, jobs)
    streams = latest.get("streams")
    if streams is not None:
        withheld = streams["withheld"]
        if withheld:
            yield StillDue(f"tasks are withheld until their owners give them up: {listed(withheld, MOST_NAMES)}")
        if demand.streams_warm:
            yield from _warm_ups(streams)
    if demand.most_lag is not None:
        yield from _lag(known, latest, demand.most_lag)


def _delay(known: GroupFacts, latest: Published) -> Iterator[StillDue]:
    wait = latest.get("wait")
    if wait is not None and wait["ended_ms"] is None:
        names = listed([one["id"] for one in wait["subjects"]], MOST_NAMES)
        yield StillDue(f"the scheduled delay holds back {names or 'connectors and tasks'}", wait["until_ms"])
    elif known.group["delay_until_ms"] is not None:
        yield StillDue("a scheduled delay is pending", known.group["delay_until_ms"])


def _unassigned(known: GroupFacts, latest: Published) -> Iterator[StillDue]:
    names = latest.get("unassigned") or ()
    if names or known.group["unassigned"]:
        told = listed(names, MOST_NAMES) or f"{known.group['unassigned']} connectors and tasks"
        yield StillDue(f"nobody has {told}")
    for one in known.open_incidents:
        if one["violation"]["rule"] in UNOWNED:
            yield StillDue(f"nobody has something that is configured: {' '.join(one['violation']['message'].split())}")


def _statuses(latest: Published, jobs: Sequence[Published]) -> Iterator[StillDue]:
    """Who holds what by the record, against the rows of statuses: a row may still be of a generation before."""
    rows = {_name(one["subject"]): one for one in jobs}
    holders = _holders(latest)
    if holders and not rows:
        yield StillDue("statuses of connectors and tasks are not known")
        return
    troubles: dict[str, list[str]] = {}
    for name, workers in holders.items():
        trouble = _trouble(rows.get(name), workers)
        if trouble:
            troubles.setdefault(trouble, []).append(name)
    for trouble, names in troubles.items():
        yield StillDue(f"{trouble}: {listed(sorted(names), MOST_NAMES)}")


def _holders(latest: Published) -> Mapping[str, Collection[str]]:
    found: dict[str, set[str]] = {}
    for member in latest["members"]:
        for name in held(dict(member)):
            found.setdefault(name, set()).add(member["worker"])
    return found


def _name(subject: Published) -> str:
    return f"{subject['id']}{CONNECTOR if subject['type'] == 'connector' else ''}"


def _trouble(row: Published | None, workers: Collection[str]) -> str:
    """What keeps a connector or task from counting as at work in this generation; "" for nothing."""
    if row is None or set(row["assigned"]) != set(workers):
        return "not compared with the latest generation yet"
    state = None if row["running"] is None else row["running"]["state"]
    if row["agreement"] != "ok":
        return _KINDS.get(str(row["agreement"]), str(row["agreement"]))
    if state in AT_WORK or (state == STOPPED and row["subject"]["type"] == "connector"):
        return ""
    return "without a known status" if state is None else str(state)


def _warm_ups(streams: Published) -> Iterator[StillDue]:
    tasks = sorted(
        task for process in streams["processes"] for thread in process["threads"] for task in thread["warm_up"]
    )
    progress = streams["progress"]
    next_ms = next_probing_ms(streams)
    if tasks:
        yield StillDue(f"copies warm up: {listed(tasks, MOST_NAMES)}", next_ms)
    elif progress is not None and progress["moves_left"]:
        moves = counted(progress["moves_left"], "move")
        yield StillDue(f"{moves} of tasks with state are left", progress["not_before_ms"])
    elif progress is None and streams["version"] is not None:
        yield StillDue("how far tasks are from their target placement is not known")
    elif next_ms is not None:
        yield StillDue("a probing rebalance is due", next_ms)


def _lag(known: GroupFacts, latest: Published, most: int) -> Iterator[StillDue]:
    progress = known.progress
    if progress is None:
        yield StillDue("its lag is not known; the monitor asks brokers for it where its configuration says so")
        return
    if progress["asked_ms"] <= latest["at_ms"] or progress["generation"] != latest["generation"]:
        yield StillDue("its lag was not asked since the latest generation")
        return
    if known.now_ms - progress["asked_ms"] > LAG_HOLDS_MS:
        told = f"its lag was not asked for more than {duration(LAG_HOLDS_MS)}, last at {utc(progress['asked_ms'])}"
        yield StillDue(told)
        return
    unknown = sum(member["unknown"] for member in progress["members"])
    if unknown:
        yield StillDue(f"of {counted(unknown, 'partition')} no committed offset is known")
    lag = sum(member["lag"] for member in progress["members"])
    if lag > most:
        yield StillDue(f"its members are {lag:,} records behind, {most:,} at most are asked for")
