"""What the assignor did in one generation, step by step, by the generation's document: only what it shows."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from rebalance_monitor.streaming.core.model.messages import counted, listed, utc
from .durations import duration
from .holdings import held, jobs_text, share_names
from .known import Published, names_of, transfers

MOST_NAMES = 8
MOST_MEMBERS = 6
_HOW: Mapping[str, str] = {
    "range": "For each topic it took the members that subscribe to it in order, and gave each a run of partitions",
    "roundrobin": "It put all partitions of all topics in order and dealt them to the members in turn",
    "sticky": "It left partitions with the members that had them as far as that is even, and gave the others to those"
    " with the fewest",
    "cooperative-sticky": "It left partitions with the members that had them as far as that is even, and gave the"
    " others to those with the fewest",
    "uniform": "It left partitions with the members that had them as far as that is even",
    "simple": "It spread the partitions over the members; a partition of a share group may be with several",
}
_EAGER = ("range", "roundrobin", "sticky")


def steps(generation: Published) -> list[str]:
    """Sentences, in the order in which things happen."""
    if generation.get("repeats"):
        return ["Nothing: no assignment was computed, and the one before stands."]
    return list(_of_kind(generation)(generation))


def _of_kind(generation: Published) -> Callable[[Published], Iterator[str]]:
    if generation.get("epoch") is not None:
        return _target
    if generation["protocol_type"] == "connect":
        return _eager_connect if generation["protocol"] == "default" else _incremental
    return _streams if generation.get("streams") is not None else _consumers


def _leads(generation: Published) -> str:
    """Who computed the assignment."""
    leader = generation["leader"]
    return "The leader" if leader is None else f"The leader, {names_of(generation).get(leader, leader)},"


def _eager_connect(generation: Published) -> Iterator[str]:
    yield "Every worker stopped all its connectors and tasks before it joined (eager protocol)."
    yield f"{_leads(generation)} dealt the connectors and then the tasks to the workers in turn."
    yield f"Connectors and tasks per worker now: {_spread(generation)}."


def _incremental(generation: Published) -> Iterator[str]:
    """Incremental cooperative rebalancing of Connect (KIP-415)."""
    workers = counted(len(generation["members"]), "worker")
    yield f"{_leads(generation)} compared what {workers} reported as theirs with what is configured."
    several = _reported_by_several(generation)
    for reporters in dict.fromkeys(several.values()):
        names = sorted(name for name, own in several.items() if own == reporters)
        revoked = all(_revoked_from_each(name, generation) for name in names)
        what = "it was" if len(names) == 1 else "they were"
        who = "both" if len(reporters) == 2 else "all"
        not_all = "" if revoked else "not "
        yield (
            f"{listed(reporters, MOST_MEMBERS)} {who} reported {_few(names)}: {what} {not_all}revoked from each of "
            "these workers."
        )
    moves: dict[str, list[Published]] = defaultdict(list)
    for move in generation["moves"]:
        if move["kind"] != "revoked" or move["subject"]["id"] not in several:
            moves[move["kind"]].append(move)
    for kind, tell in _MOVES.items():
        if moves[kind]:
            yield tell(moves[kind], generation)
    if generation["stayed"]:
        yield f"{jobs_text(generation['stayed'])} stayed where they were and went on: only changes are sent."
    free = generation["unassigned"]
    after = f"; nobody has {listed(free, MOST_NAMES)}" if free else ""
    yield f"Connectors and tasks per worker after it: {_spread(generation)}{after}."


def _lost(moves: list[Published], generation: Published) -> str:
    wait = generation["wait"]
    what = f"Of a worker that is gone: {_pairs(moves, 'from', 'of')}"
    if wait is None or wait["until_ms"] is None:
        return f"{what}. Nobody has it in this generation."
    begins = generation["delay_ms"] and wait["since_ms"] == generation["at_ms"]
    delay = f" ({duration(generation['delay_ms'])}, scheduled.rebalance.max.delay.ms)" if begins else ""
    return f"{what}. It is held back until {utc(wait['until_ms'])}, in case the worker comes back{delay}."


_MOVES: Mapping[str, Callable[[list[Published], Published], str]] = {
    "lost": _lost,
    "stopped": lambda moves, _: f"{_names(moves)} does not exist any more, and nobody has it.",
    "revoked": lambda moves, _: (
        f"It took away {_pairs(moves, 'from', 'from')}, so that loads become even; nobody has it until the next one."
    ),
    "returned": lambda moves, _: f"It gave back {_pairs(moves, 'to', 'to')}, which had it last.",
    "started": lambda moves, _: f"It gave what nobody had before: {_pairs(moves, 'to', 'to')}.",
    "moved_in_two_steps": lambda moves, _: (
        f"It gave what an earlier rebalance had taken from another worker: {_pairs(moves, 'to', 'to')}."
    ),
    "moved_at_once": lambda moves, _: f"It gave to another worker than before: {_pairs(moves, 'to', 'to')}.",
    "duplicated": lambda moves, _: f"In several hands after it: {_names(moves)}.",
}


def _reported_by_several(generation: Published) -> dict[str, tuple[str, ...]]:
    called = names_of(generation)
    found: dict[str, list[str]] = defaultdict(list)
    for member in generation["members"]:
        for name in share_names(member["owned"]):
            found[name].append(called[member["member_id"]])
    return {name: tuple(reporters) for name, reporters in found.items() if len(reporters) > 1}


def _revoked_from_each(name: str, generation: Published) -> bool:
    """Leaders before Kafka 2.5.1 leave it with all of them."""
    return all(
        name in share_names(member["revoked"])
        for member in generation["members"]
        if name in share_names(member["owned"])
    )


def _pairs(moves: list[Published], side: str, link: str) -> str:
    """`a-0, a-1 from w1; a-2 from w2`."""
    by_worker: dict[str, list[str]] = defaultdict(list)
    for move in moves:
        by_worker[move[side] or "nobody"].append(move["subject"]["id"])
    told = [f"{listed(names, MOST_NAMES)} {link} {worker}" for worker, names in by_worker.items()]
    more = f"; and {len(told) - MOST_MEMBERS} more workers" if len(told) > MOST_MEMBERS else ""
    return "; ".join(told[:MOST_MEMBERS]) + more


def _names(moves: list[Published]) -> str:
    return listed([move["subject"]["id"] for move in moves], MOST_NAMES)


def _consumers(generation: Published) -> Iterator[str]:
    protocol = generation["protocol"]
    if protocol in _EAGER:
        yield "Every member gave up all its partitions before it joined (eager protocol): nobody read meanwhile."
    elif protocol == "cooperative-sticky":
        yield _kept(generation)
    how = _HOW.get(protocol or "")
    yield f"{_leads(generation)} computed the assignment with {protocol or 'a protocol that is not known'}."
    if how is not None:
        yield f"{how}. Partitions per member now: {_spread(generation)}."
    free = _withheld(generation)
    if free:
        told = [f"{name} (with {holder} until now)" for name, holder in free]
        yield f"It gave to nobody yet what its owner has to give up first: {listed(told, MOST_NAMES)}."


def _kept(generation: Published) -> str:
    """A member that lists an eager assignor, too, gives up everything before it joins, whatever the group agrees on."""
    kept = sum(bool(share_names(member["owned"])) for member in generation["members"])
    if kept == len(generation["members"]):
        return "Every member kept its partitions while it joined (cooperative protocol)."
    gave_up = "new, or had given all up as members do that know eager assignors, too"
    if not kept:
        return f"No member said as it joined that it had partitions: they were {gave_up}."
    return (
        f"{kept} of {counted(len(generation['members']), 'member')} kept their partitions while they joined"
        f" (cooperative protocol); the others said that they had none: they were {gave_up}."
    )


def _withheld(generation: Published) -> list[tuple[str, str]]:
    """Partitions that a member had and nobody is given."""
    called = names_of(generation)
    given = {name for member in generation["members"] for name in share_names(member["assigned"])}
    if generation["protocol"] != "cooperative-sticky":
        return []
    return sorted(
        (name, called[member["member_id"]])
        for member in generation["members"]
        for name in share_names(member["owned"])
        if name not in given
    )


def _streams(generation: Published) -> Iterator[str]:
    streams = generation["streams"]
    yield f"{_leads(generation)} assigned tasks to {_processes(len(streams['processes']))}."
    yield from _tasks(streams)


def _tasks(streams: Published) -> Iterator[str]:
    threads = [thread for process in streams["processes"] for thread in process["threads"]]
    active = sum(len(thread["active"]) for thread in threads)
    standby = sum(len(thread["standby"]) for thread in threads)
    yield f"{counted(active, 'task')} run, with {counted(standby, 'copy')}."
    warm = [
        f"{task} on {process['end_point'] or process['host'].lstrip('/') or process['process_id']}"
        for process in streams["processes"]
        for thread in process["threads"]
        for task in thread["warm_up"]
    ]
    if warm:
        yield f"Tasks with state stay where they run until a copy has caught up elsewhere; it warms up: {_few(warm)}."
    if streams["withheld"]:
        yield f"Nobody runs in this generation what its owner has to give up first: {_few(streams['withheld'])}."


def _target(generation: Published) -> Iterator[str]:
    """KIP-848, KIP-932 and KIP-1071: the coordinator computes a target, and each member goes there by itself."""
    epoch = generation["epoch"]
    assignor = generation["protocol"] or "its assignor"
    if epoch["needed_ms"] is not None and epoch["group_epoch"] is not None:
        yield f"At {utc(epoch['needed_ms'])} a new target was needed (group epoch {epoch['group_epoch']})."
    took = ""
    if epoch["computed_ms"] is not None and epoch["needed_ms"] is not None:
        took = f", {duration(max(0, epoch['computed_ms'] - epoch['needed_ms']))} later"
    yield f"The coordinator computed it with {assignor}{took}. Members do not stop for that."
    how = _HOW.get(assignor)
    if how is not None:
        what = "Tasks" if generation.get("streams") is not None else "Partitions"
        yield f"{how}. {what} per member in the target: {_spread(generation)}."
    streams = generation.get("streams")
    if streams is not None:
        yield from _tasks(streams)
    if epoch["reached_ms"] is not None:
        return
    waiting = [f"{name} from {holder} to {receiver}" for name, holder, receiver in transfers(generation)]
    if waiting:
        yield f"A member gets a partition once its holder has given it up: {_few(waiting)}."


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


def _spread(generation: Published) -> str:
    """Fewest and most in one hand; an assignment that could not be read is no empty one."""
    members = generation["members"]
    read = sum(member["assigned"] is not None for member in members)
    if read < len(members):
        return f"not known, since only {read} of {len(members)} could be read"
    counts = [len(held(dict(member))) for member in members] or [0]
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _few(names: list[str]) -> str:
    return listed(names, MOST_NAMES)
