"""What a change of a Kafka Streams application (classic protocol) brings.

A leader places tasks with state by how far each copy lags when it asks for the end offsets. No record tells that, so
figures of the next rebalance are a range over what it may be (`streams_range`), and who gets what is not predicted.
What is certain is told beside: which tasks have to go, who has copies of them, and how many tasks fall to a thread.
"""

from collections.abc import Iterator

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.messages import counted, listed
from rebalance_monitor.streaming.stories.known import Published
from .change import TRIED, Concerned, GroupChange, WrongChange, concerned
from .outcome import Figure, Prediction
from .streams_range import StreamsRange, next_rebalance

MOST_NAMES = 8
_FIGURES = {
    "moved": "Active tasks that the next rebalance gives to another process: {}.",
    "restored": "Of these, tasks with state of which that process has told nothing, so it restores them first: {}.",
    "copied": "Copies that begin, warm-ups among them: {}.",
    "least": "Active tasks of the process with the fewest, after it: {}.",
    "most": "Active tasks of the process with the most, after it: {}.",
}
_PROBING = ("No probing rebalance follows.", "Probing rebalances follow, or none does.", "Probing rebalances follow.")
"""Never, by some end offsets, always."""
_PRESUMED = (
    "The leader's settings are those that gave the last record's placement, and tasks are the same.",
    "Each member that joins is a process of its own, without state. Copies that are behind keep their order.",
)
_NOT_ALL = "Not all ways were tried in which copies may have caught up; others may give what none of these gave."
_DEPENDS = (
    "Who gets a task with state depends on how far copies lag when the leader asks (acceptable.recovery.lag), on"
    " num.standby.replicas and max.warmup.replicas; what still warms up moves in later, probing rebalances"
    " (probing.rebalance.interval.ms)."
)


def predict(change: GroupChange, generation: Published) -> Prediction:
    """Sentences that hold whatever the end offsets are, and what depends on them. WrongChange."""
    if change.scale:
        raise WrongChange("--scale is for connectors of a Kafka Connect group")
    who = concerned(change, generation)
    known = tuple(_known(change, who, generation))
    members = {one["member_id"]: one for one in generation["members"]}
    away = tuple(one for one in who.bouncing if not _stays(members[one], change, who))
    if not (who.leaving or away or change.join):
        return Prediction(cases=(), known=known, unknown=(_DEPENDS,))
    found = next_rebalance(change, replace(who, bouncing=away), generation)
    if isinstance(found, str):
        return Prediction(cases=(), known=known, unknown=(_DEPENDS, f"No range of it can be told: {found}."))
    untried = (*([TRIED] if change.join else []), *([] if found.whole else [_NOT_ALL]))
    return Prediction(
        cases=(), ranges=tuple(_figures(found)), known=known, presumed=_PRESUMED, unknown=(_DEPENDS, *untried)
    )


def _figures(found: StreamsRange) -> Iterator[Figure]:
    for name, text in _FIGURES.items():
        least, most = found.of(name)
        yield Figure(name, least, most, text.format(least if least == most else f"{least} to {most}"))
    least, most = found.of("probing")
    yield Figure("probing", least, most, _PROBING[least + most])


def _stays(member: Published, change: GroupChange, who: Concerned) -> bool:
    """Whether it is static, and back before its session is over."""
    return bool(member["instance_id"]) and _back_in_time(member, change, who)


def _known(change: GroupChange, who: Concerned, generation: Published) -> Iterator[str]:
    stays = [one for one in generation["members"] if _stays(one, change, who)]
    if stays:
        told = listed([who.names[one["member_id"]] for one in stays], MOST_NAMES)
        yield f"{told}: static, and back within the session time-out, so its tasks stay with it and no rebalance comes."
    gone = {*who.leaving, *who.bouncing} - {one["member_id"] for one in stays}
    processes = generation["streams"]["processes"]
    stateful = {one["name"] for one in generation["streams"]["subtopologies"] if one["stateful"] is not False}
    threads = [thread for one in processes for thread in one["threads"]]
    lost = [task for thread in threads if thread["member_id"] in gone for task in thread["active"]]
    for thread in threads:
        if thread["member_id"] in gone and thread["active"]:
            name = who.names[thread["member_id"]]
            yield f"{name} has {_tasks(thread['active'])}: the next rebalance gives them to other threads at once."
    copies = {task: _copies(task, gone, who, generation) for task in lost if _subtopology(task) in stateful}
    for task, holders in copies.items():
        if holders:
            yield f"Of {task} there are copies: {listed(holders, MOST_NAMES)}."
    bare = [task for task, holders in copies.items() if not holders]
    if bare:
        yield f"Nobody else has a copy of {_tasks(bare)}: who gets them restores them from the changelogs first."
    left = sum(thread["member_id"] not in gone for thread in threads) + change.join
    left += len(gone.intersection(who.bouncing))
    tasks = sum(one["tasks"] for one in generation["streams"]["subtopologies"])
    if not left:
        yield "No thread is left: everything stands still until one joins."
        return
    least, extra = divmod(tasks, left)
    each = str(least) if not extra else f"{least} or {least + 1}"
    yield f"{counted(tasks, 'active task')} on {counted(left, 'thread')} are {each} each where they are even."
    if change.join:
        yield "A new process begins without state: where another one has it, it warms up a copy of its own first."
    if who.bouncing:
        yield "A process that is back begins with the state that is left in its state.dir, and restores the rest."


def _back_in_time(member: Published, change: GroupChange, who: Concerned) -> bool:
    session_ms = member.get("session_timeout_ms")
    return member["member_id"] in who.bouncing and session_ms is not None and change.away_ms < session_ms


def _copies(task: str, gone: set[str], who: Concerned, generation: Published) -> list[str]:
    """Threads that copy the task, with how far each lagged when brokers were asked last."""
    found = []
    for process in generation["streams"]["processes"]:
        for thread in process["threads"]:
            if thread["member_id"] not in gone and task in (*thread["standby"], *thread["warm_up"]):
                lag = (process.get("lags") or {}).get(task)
                behind = "" if lag is None else f" ({lag:,} records behind when it was asked last)"
                found.append(f"{who.names[thread['member_id']]}{behind}")
    return found


def _subtopology(task: str) -> str:
    return task.rpartition("_")[0]


def _tasks(tasks: list[str]) -> str:
    return f"{counted(len(tasks), 'task')} ({listed(tasks, MOST_NAMES)})"
