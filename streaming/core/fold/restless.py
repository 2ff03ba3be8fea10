"""Groups that do not come to rest: GROUP-G5 (who comes back again and again) and GROUP-G6 (more rounds than reasons).

Both are asked of each generation of any kind of group, whoever judges it: a classic group's record, or a target.

    generation 7, 8, 9 …    members that came, compared with those that came before     `returns`
                            rounds, compared with what explains them                    `rounds`
    no generation           a name is forgotten, the storm is over                      by the clock

A group whose lifecycle has a storm rule of its own (Connect, which knows more reasons) is asked for the first alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.incidents.of_every_group import CRASH_LOOP, REBALANCE_STORM
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import (
    Certainty,
    ConsumerShare,
    Evidence,
    Generation,
    MemberResult,
    Source,
    Subject,
)
from . import returns, rounds
from .intake import Intake
from .published import body_of, source_of
from .returns import Present, Returner
from .rounds import Round
from .state import Envelope, Restless
from .timeouts import ASSUMED, timeouts_of

FREE_ROUNDS = 20
"""Rounds within `rounds.SPAN_MS` that need no reason: topics that grow, and members that call for one, leave none."""
MOST_EXPLAINED = 600
"""One round in a second is a storm whatever explains it, in a group that is not so large that it may need them."""
BACK_MS = 1_000
"""A record that is earlier than the one before by more than this was written by another clock."""
CODES = frozenset({CRASH_LOOP.code, REBALANCE_STORM.code})
EAGER = frozenset({"range", "roundrobin", "sticky"})
"""Assignors under which every member gives up everything before each rebalance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """One generation. `before`: the member ids of the one before, None where that is not known; `again`: it is no round
    of its own; `empties`: whether a group of this kind shows that nobody was there in between; `silent_ms`: after how
    long a member that is silent is removed; `own_storm`: its lifecycle has a storm rule;
    `announced`: its leader says that another one follows."""

    number: int
    at_ms: int
    source: Source
    members: Sequence[MemberResult]
    before: frozenset[str] | None
    silent_ms: int
    again: bool = False
    empties: bool = True
    revoking: bool = False
    targets: bool = False
    eager: bool = False
    own_storm: bool = False
    announced: bool = False


def recorded(fold: Intake, row: Row, outputs: Sequence[Output], before: Envelope) -> None:
    """After the record of a classic group was judged. `outputs`: what its session said; `before`: the envelope before
    the record."""
    body = body_of(row)
    found = next((one for one in outputs if isinstance(one, Generation)), None)
    known = before.generation is not None and before.incarnation == fold.envelope.incarnation
    seen = _Seen(
        number=body.generation,
        at_ms=row.timestamp_ms,
        source=source_of(row),
        members=() if found is None else found.members,
        before=before.member_ids if known else None,
        silent_ms=timeouts_of(fold.settings, fold.group, body).session_ms,
        again=known and body.generation == before.generation,
        empties=body.sampled is None,
        revoking=_revokes(found),
        eager=body.protocol in EAGER,
        announced=_announces(found),
        own_storm=any(one.title == REBALANCE_STORM.title for one in fold.registry.owner(body).rules),
    )
    _look(fold, seen, there=None)


def computed(fold: Intake, target: Generation) -> None:
    known = fold.envelope.restless
    owner_ms = fold.settings.silent_member_ms_of(fold.group)
    seen = _Seen(
        number=target.generation,
        at_ms=target.at_ms,
        source=target.source,
        members=target.members,
        before=known.there if known.life == fold.envelope.incarnation else None,
        silent_ms=ASSUMED.session_ms if owner_ms is None else owner_ms,
        empties=False,
        revoking=_revokes(target),
        targets=True,
    )
    _look(fold, seen, there=frozenset(one.member_id for one in target.members))


def due_ms(fold: Intake) -> int | None:
    """When the next of the two is over, if nothing comes, by the coordinator's clock."""
    known, codes = fold.envelope.restless, {one.code for one in fold.open().values()}
    times = [known.at_ms + rounds.CALM_MS] if REBALANCE_STORM.code in codes else []
    if CRASH_LOOP.code in codes:
        window_ms = fold.settings.crash_loop_ms
        times += [one.came_ms + window_ms for one in known.returners.values() if one.looping]
    return min(times, default=None)


def fire(fold: Intake, at_ms: int, *, historic: bool) -> None:
    known = fold.envelope.restless
    open_now = {one.code for one in fold.open().values()} & CODES
    if not open_now:
        return
    left = returns.outlived(known.returners, at_ms, window_ms=fold.settings.crash_loop_ms)
    moment = fold.moment(at_ms, historic=historic)
    names = {_subject(name) for name in returns.looping(left)}
    over = tuple(
        key
        for key, one in fold.open().items()
        if (one.code == CRASH_LOOP.code and not names & set(one.subjects))
        or (one.code == REBALANCE_STORM.code and at_ms >= known.at_ms + rounds.CALM_MS)
    )
    fold.envelope = replace(fold.envelope, restless=replace(known, returners=left))
    if over:
        fold.publish([Notice(moment=moment, over=over)])


def _revokes(generation: Generation | None) -> bool:
    return generation is not None and any(change.lost for change in generation.diff.values())


def _announces(generation: Generation | None) -> bool:
    """Whether a Streams leader has set the time of the next rebalance."""
    streams = None if generation is None else generation.streams
    return streams is not None and streams.next_rebalance_ms is not None


def _look(fold: Intake, seen: _Seen, *, there: frozenset[str] | None) -> None:
    """Remember the generation, and say what is found after it. `there`: as `Restless` keeps it."""
    settings, known = fold.settings, fold.envelope.restless
    if known.life != fold.envelope.incarnation or seen.at_ms < known.at_ms - BACK_MS:
        known = Restless(life=fold.envelope.incarnation)
    ids = frozenset(one.member_id for one in seen.members)
    before = ids if seen.before is None else seen.before
    came, gone = ids - before, before - ids
    present = Present(
        at_ms=seen.at_ms,
        members=seen.members,
        came=came,
        gone=gone,
        silent_ms=seen.silent_ms,
        passed_ms=seen.at_ms - known.at_ms if known.at_ms else 0,
        alone=len({one.client_host for one in seen.members}) == 1
        and not ids & before
        and not (seen.empties and before),
    )
    moved = len(came) + len(gone)
    allowed = 2 * moved + seen.announced
    latest = Round(seen.at_ms, allowed, revoking=seen.revoking, changes=moved, count=0 if seen.again else 1)
    known = replace(
        known,
        at_ms=seen.at_ms,
        there=there,
        rounds=rounds.with_round(known.rounds, latest),
        returners=returns.after(
            known.returners, present, times=settings.crash_loop_returns, window_ms=settings.crash_loop_ms
        ),
    )
    fold.envelope = replace(fold.envelope, restless=known)
    found = (*_crash_loops(known, seen), *_storm(fold, known, seen))
    if found or any(one.code in CODES for one in fold.open().values()):
        fold.publish([Notice(moment=fold.moment(seen.at_ms, generation=seen.number), found=found, evaluated=CODES)])


def _crash_loops(known: Restless, seen: _Seen) -> Iterator[Finding]:
    for name, one in returns.looping(known.returners).items():
        first_ms = one.times[0][0] if one.times else one.came_ms
        yield Finding(
            rule=CRASH_LOOP,
            severity=CRASH_LOOP.severity,
            certainty=Certainty.LIKELY,
            subjects=(_subject(name),),
            message=f"{name} was lost or left, and came back, {one.back()} times within "
            f"{(one.came_ms - first_ms) // 1_000} s{_shared(one)}; {_cost(one, seen)}",
            evidence=(Evidence(source=seen.source),),
        )


def _subject(name: str) -> Subject:
    """A name without its kind."""
    return Subject("member", name.partition(" ")[2])


def _shared(one: Returner) -> str:
    return f" ({one.most} members have this name)" if one.most > 1 else ""


def _cost(one: Returner, seen: _Seen) -> str:
    """What the returns cost so far, as far as records tell."""
    stopped = f"what it held had no reader for about {one.stopped_ms // 1_000} partition-seconds"
    if seen.again:
        return f"{stopped}, and the last return needed no rebalance"
    if not seen.eager:
        return f"{stopped}, and the group rebalanced each time"
    held = sum(len(each.assigned.partitions) for each in seen.members if isinstance(each.assigned, ConsumerShare))
    return f"{stopped}, and each rebalance stopped all {held} partitions of the group"


def _storm(fold: Intake, known: Restless, seen: _Seen) -> Iterator[Finding]:
    """More rounds than are explained. The members of a group with targets each make a round when they change what they
    subscribe to."""
    if seen.own_storm:
        return
    free = FREE_ROUNDS + (len(seen.members) if seen.targets else 0)
    most = MOST_EXPLAINED + 4 * len(seen.members)
    if rounds.surplus(known.rounds, free=free, most=most) > 0:
        yield Finding(
            rule=REBALANCE_STORM,
            severity=REBALANCE_STORM.severity,
            certainty=Certainty.LIKELY,
            subjects=(Subject("group", fold.group),),
            message=f"{rounds.number(known.rounds)} generations within {_span_s(known, seen)} s, more than members "
            "that came or went and partitions that changed hands explain",
            evidence=(Evidence(source=seen.source),),
        )


def _span_s(known: Restless, seen: _Seen) -> int:
    """Since the first of the rounds that are counted, in seconds begun."""
    return (seen.at_ms - known.rounds[0].at_ms) // 1_000 + 1
