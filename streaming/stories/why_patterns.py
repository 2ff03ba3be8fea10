"""Patterns that only several rebalances show. docs/why.md has each with its criterion, in these words and numbers.

A pattern looks at all rebalances of a group and names those that it explains. It explains one only if it explains
everybody who came or went with it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from rebalance_monitor.streaming.core.fold import static_members
from rebalance_monitor.streaming.core.model.messages import counted, listed
from .durations import duration
from .rebalances import Explained, NamedCause, NamedMember, SeenRebalance
from .rolling_restarts import rolling_restarts

LEAST_TIMES = 3
"""So often a member must have gone in the same way before a pattern is named."""
SLACK_MS, SLACK_SHARE = 5_000, 0.1
"""So long after a time-out a join phase may end that the time-out began (others join again with a heartbeat, 3 s), but
not longer than this share of the time-out: else a departure at any moment would be taken for it."""
MOST_NAMED = 3
POLL_TIMED_OUT = "consumer poll timeout has expired"
"""What Kafka's own consumer gives as its reason (`AbstractCoordinator.java`, 3.2 and later)."""
WhyPattern = Callable[[Sequence[SeenRebalance]], Mapping[int, Explained]]
"""From all rebalances to those that it explains, by their place in the list."""


def contested_instances(known: Sequence[SeenRebalance]) -> Mapping[int, Explained]:
    """An instance id whose member alternates between two hosts, in all records, those that repeat a generation too."""
    turns: dict[str, list[static_members.StaticProcess]] = {}
    hosts: dict[str, str] = {}
    spans: dict[str, list[tuple[int, int]]] = {}
    life = -1
    for one in known:
        here = {member.name for member in one.members.values()} if one.place[0] == life else frozenset[str]()
        turns = {name: own for name, own in turns.items() if name in here}
        life = one.place[0]
        for member in one.members.values():
            if not member.static:
                continue
            own = turns.setdefault(member.name, [])
            if not own or own[-1].member_id != member.member_id:
                own.append(static_members.StaticProcess(member.member_id, member.host, one.at_ms, member.client))
                last = own[-static_members.TURNS :]
                if static_members.alternates(tuple(last)):
                    hosts[member.name] = " and ".join(sorted({each.host for each in last}))
                    until_ms = last[-1].at_ms + static_members.WINDOW_MS
                    spans.setdefault(member.name, []).append((last[0].at_ms, until_ms))
    found = {}
    for place, one in enumerate(known):
        then = {name for name in one.movers if any(low <= one.at_ms <= high for low, high in spans.get(name, ()))}
        if one.movers and then == one.movers and one.only_moves:
            names = tuple(sorted(then))
            where = "; ".join(f"{name} alternates between {hosts[name]}" for name in names)
            text = f"an instance id is used twice: {where}, and the processes fence each other in turn"
            found[place] = Explained(code="instance_id_used_twice", names=names, text=text)
    return found


def after_a_time_out(known: Sequence[SeenRebalance]) -> Mapping[int, Explained]:
    """A member that again and again is gone one time-out of its record after the rebalance before, in which it came."""
    went: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    all_times = Counter(member.name for one in known for member in one.went)
    fresh: frozenset[str] = frozenset()
    for place, one in enumerate(known):
        for member in one.went:
            which = _time_out(one, member) if member.name in fresh else None
            if which is not None and one.waited_ms is not None:
                timeout_ms = member.session_ms if which == "session" else member.rebalance_ms
                went.setdefault((member.name, which), []).append((place, one.waited_ms, timeout_ms or 0))
        fresh = frozenset(each.name for each in one.came) if one.movers else fresh
    often = {key: some for key, some in went.items() if len(some) >= max(LEAST_TIMES, all_times[key[0]] / 2)}
    gone_at = {(place, name): which for (name, which), some in often.items() for place, _, _ in some}
    found = {}
    away: dict[str, str] = {}
    for place, one in enumerate(known):
        ways = {name: gone_at.get((place, name), "") for name in {each.name for each in one.went}}
        back = {each.name: away.get(each.name, "") for each in one.came}
        for each in one.came:
            away.pop(each.name, None)
        away |= {name: which for name, which in ways.items() if which and name not in back}
        # Who is gone and back within one join phase is named by how it went.
        kinds = {name: ways.get(name) or back.get(name, "") for name in {*ways, *back}}
        if kinds and all(kinds.values()) and len(set(kinds.values())) == 1 and one.only_moves:
            which = next(iter(kinds.values()))
            alike = sorted((name for name, way in often if way == which), key=lambda name: (-all_times[name], name))
            names = _about(kinds, alike)
            found[place] = Explained(code=_CODES[which], names=names, text=_waits(which, names, often))
    return found


_CODES = {"rebalance": "poll_interval_exceeded", "session": "session_timed_out"}


def _time_out(one: SeenRebalance, member: NamedMember) -> str | None:
    """Which of its time-outs had just passed when the member was gone; None where neither or either may have."""
    session_ms, rebalance_ms = member.session_ms, member.rebalance_ms
    sole = one.classic and one.consumer and member.name in one.sole
    if not sole or one.waited_ms is None or session_ms is None or rebalance_ms is None:
        return None
    passed = [
        which
        for which, timeout_ms in (("session", session_ms), ("rebalance", rebalance_ms))
        if timeout_ms <= one.waited_ms <= timeout_ms + min(SLACK_MS, timeout_ms * SLACK_SHARE)
        # A static member asks for nothing when its poll time-out is over: its session time-out removes it later.
        and not (which == "rebalance" and member.static)
    ]
    return passed[0] if len(passed) == 1 and _may_be(passed[0], one.proven(member.name)) else None


def _may_be(which: str, proven: Iterable[NamedCause]) -> bool:
    """Whether what is certain of a departure leaves it open that this time-out was why. A member that was too long in
    its processing leaves by a request; Kafka's own consumer says that it does."""
    if which == "session":
        return all(one.kind != "member_left" for one in proven)
    return all(one.kind != "member_lost" and POLL_TIMED_OUT in (one.client_reason or POLL_TIMED_OUT) for one in proven)


def _about(own: Iterable[str], alike: Sequence[str]) -> tuple[str, ...]:
    """Whom a line is about: who came or went; or all whom the pattern fits, where these are many."""
    return tuple(sorted(own)) if len(alike) <= MOST_NAMED else tuple(alike)


def _waits(which: str, names: Sequence[str], often: Mapping[tuple[str, str], list[tuple[int, int, int]]]) -> str:
    told = []
    for name in names[:MOST_NAMED]:
        some = often[name, which]
        least, most = min(one[1] for one in some), max(one[1] for one in some)
        span = f"{least / 1000:.1f}" if least == most else f"{least / 1000:.1f} to {most / 1000:.1f}"
        told.append(
            f"member {name} was gone {counted(len(some), 'time')} {span} s after the rebalance before; the {which}"
            f" time-out of its record is {duration(some[-1][2])}"
        )
    meaning = (
        "longer in its processing than `max.poll.interval.ms`"
        if which == "rebalance"
        else "it fell silent as soon as it had joined"
    )
    more = f"; so were {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{'; '.join(told)}{more}: {meaning}"


def within_the_delay(known: Sequence[SeenRebalance]) -> Mapping[int, Explained]:
    """A Connect worker that was gone and back before the scheduled delay had ended. It ends early where a leader knows
    nothing of the loss: no record announces it any more."""
    found: dict[int, Explained] = {}
    gone: dict[str, tuple[int, int]] = {}
    pairs: list[tuple[int, int, str]] = []
    for place, one in enumerate(known):
        for name in {each.name for each in one.came}:
            left, until_ms = gone.pop(name, (-1, 0))
            if left >= 0 and one.at_ms <= until_ms:
                pairs.append((left, place, name))
        if not one.delay_ms:
            gone.clear()
        else:
            gone |= {each.name: (place, one.at_ms + one.delay_ms) for each in one.went}
    of_place: dict[int, set[str]] = {}
    for left, back, name in pairs:
        of_place.setdefault(left, set()).add(name)
        of_place.setdefault(back, set()).add(name)
    counts = Counter(name for _, _, name in pairs)
    alike = sorted(counts, key=lambda name: (-counts[name], name))
    for place, several in of_place.items():
        if known[place].movers == several and known[place].only_moves:
            names = _about(several, alike)
            times = sum(counts[name] for name in names)
            text = (
                f"{listed([f'worker {name}' for name in names], MOST_NAMED)} was gone and back within the scheduled"
                f" delay, {counted(times, 'time')}"
            )
            found[place] = Explained(code="worker_back_within_delay", names=names, text=text)
    return found


def comes_and_goes(known: Sequence[SeenRebalance]) -> Mapping[int, Explained]:
    """A name under which one member at a time goes and comes back, again and again."""
    times: dict[str, int] = {}
    gone = set[str]()
    doubled = {one.name for each in known for one in each.members.values() if one.name not in each.sole}
    for one in known:
        back = {each.name for each in one.came} & (gone | {each.name for each in one.went})
        for name in back:
            times[name] = times.get(name, 0) + 1
        gone = (gone | {each.name for each in one.went}) - {each.name for each in one.came}
    often = {name for name, count in times.items() if count >= LEAST_TIMES and name not in doubled}
    alike = sorted(often, key=lambda name: (-times[name], name))
    found = {}
    for place, one in enumerate(known):
        if one.movers and one.movers <= often and one.only_moves:
            names = _about(one.movers, alike)
            told = listed([f"{name} {times[name]} times" for name in names], MOST_NAMED)
            what = "member" if one.consumer else "worker"
            text = f"a {what} that goes and comes back again and again: {told}"
            found[place] = Explained(code="member_comes_and_goes", names=names, text=text)
    return found


_TOPICS_CHANGE = frozenset({"unknown", "subscription_changed"})
"""With these causes a topic or partition may be new."""


def topics_that_changed(known: Sequence[SeenRebalance]) -> Mapping[int, Explained]:
    """Partitions that nobody had before, while the same members stayed."""
    found: dict[int, Explained] = {}
    largest: dict[str, int] = {}
    life, records = -1, 0
    for place, one in enumerate(known):
        if one.place[0] != life or one.topics is None or not one.consumer:
            life, records, largest = one.place[0], 0, {}
        if one.topics is None or not one.consumer:
            continue
        grown = {name: max(numbers) for name, numbers in one.topics.items() if max(numbers) > largest.get(name, -1)}
        if records >= 2 and grown and not one.movers and one.after and one.kinds <= _TOPICS_CHANGE and one.classic:
            more = sorted(name for name in grown if name in largest)
            new = sorted(name for name in grown if name not in largest)
            names = tuple(more or new)
            told = listed(names, MOST_NAMED)
            text = f"partitions were added to {told}"
            if not more:
                text = f"members began to read {told}: it was made, or they subscribed to it"
            found[place] = Explained(code="partitions_added" if more else "topic_added", names=names, text=text)
        largest |= grown
        records += 1
    return found


def hand_overs(known: Sequence[SeenRebalance]) -> Mapping[int, Explained]:
    """The second rebalance of a cooperative assignor: what was given up is handed out."""
    text = "the second rebalance of a cooperative assignor: what members gave up in the one before is handed out"
    return {
        place: Explained(code="hand_over", names=(), text=text)
        for place, one in enumerate(known)
        if one.classic and one.consumer and one.handed_over and not one.movers and one.kinds == {"unknown"}
    }


_NOTHING_TELLS = frozenset({"unknown", "member_rejoined", "worker_rejoined"})


def coordinator_moved(known: Sequence[SeenRebalance]) -> Mapping[int, Explained]:
    """The same members, nothing that asked for it, and a later leader of the partition: a coordinator that is elected
    reads the group anew, and forgets a join phase that was under way. That it was elected is certain, and that the
    rebalance came of it is not."""
    found = {}
    for place, one in enumerate(known):
        if one.elected_anew and one.after and not one.movers and one.kinds <= _NOTHING_TELLS:
            name = f"{one.source['topic']}-{one.source['partition']}"
            text = (
                f"the coordinator was elected anew, and nothing else asked for it: the leader epoch of {name} is higher"
                " than at the record before"
            )
            found[place] = Explained(code="coordinator_moved", names=(name,), text=text)
    return found


PATTERNS: tuple[WhyPattern, ...] = (
    after_a_time_out, rolling_restarts, within_the_delay, comes_and_goes, topics_that_changed, hand_overs,
    coordinator_moved,
)  # fmt: skip
"""Those that look at rebalances alone. The first that explains one has it; `contested_instances` comes before all."""
