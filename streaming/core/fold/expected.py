"""GROUP-E1 to E3: what the owner of a group expects of it, held against records and samples.

    groups: [{match: "orders-*", team: payments, members_at_least: 6, lag_s: 120, rebalances_per_hour: 4}]

    10:00:00  generation 7: 6 members
    10:10:00  generation 8: 5 members        fewer_members_than_expected opens; people are notified after 5 min
    10:10:20  generation 9: 6 members        it ends, and nobody was notified

Members are counted at each record and each target, and stay as many until the next one. Lag is known of samples alone:
`more_lag_than_expected` opens when every sample of 5 min has shown it; what no sample shows is not known. Rebalances
are completed generations that were read. Of those that left no record nobody knows the time; they are not counted.
After a change to a coordinator whose clock is behind, those that were later count as of the first record by its clock.

By the clock the fold looks at what no record tells: the configuration expects something else than before, an incident
that began in history goes on, and a group that is expected by its whole name was never seen, although all was read.
"""

from collections.abc import Sequence

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks import coordinator as clocks
from rebalance_monitor.streaming.core.incidents.damping import patience_ms
from rebalance_monitor.streaming.core.incidents.finding import Finding, finding_of
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.incidents.of_every_group import (
    EXPECTATIONS,
    FEWER_MEMBERS,
    MORE_LAG,
    MORE_REBALANCES,
)
from rebalance_monitor.streaming.core.incidents.rule import MINUTE_MS, Rule
from rebalance_monitor.streaming.core.model.messages import counted, listed, utc
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import (
    Certainty,
    Evidence,
    Generation,
    GroupProgress,
    Severity,
    Standing,
    Subject,
)
from rebalance_monitor.streaming.core.model.settings import Expectations
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from .intake import Intake
from .published import body_of, source_of
from .state import Envelope

HOUR_MS = 60 * MINUTE_MS
PATIENCE_MS = 5 * MINUTE_MS
"""For so long every sample must show more lag than expected, unless the configuration says otherwise (`for_ms`).
Samples that are farther apart than this say nothing of the time between them."""
CODES = frozenset(one.code for one in EXPECTATIONS)
WENT = frozenset({"worker_left", "worker_lost", "worker_gone", "member_left", "member_lost", "member_gone"})
"""Causes of a generation that name who is not there any more."""
NOT_EXPECTED = "the configuration does not expect it any more"
NOT_BY_NAME = "the configuration does not expect the group by its whole name any more"
NOT_COUNTED = "the group is there, and how many members it has is not known"


def recorded(fold: Intake, row: Row, outputs: Sequence[Output], before: Envelope) -> None:
    """After the record of a classic group was judged. `before`: the envelope before the record."""
    body, source = body_of(row), source_of(row)
    found = next((one for one in outputs if isinstance(one, Generation)), None)
    again = body.generation == before.generation and before.incarnation == fold.envelope.incarnation
    # Without a protocol type it is the first record of a group id, written before any rebalance.
    new = bool(body.protocol_type) and not again
    _counted(fold, len(body.members), row.timestamp_ms, Evidence(source=source), body.generation, found, new=new)


def computed(fold: Intake, target: Generation) -> None:
    here = Evidence(source=target.source)
    _counted(fold, len(target.members), target.at_ms, here, target.generation, target, new=True)


def emptied(fold: Intake, standing: Standing) -> None:
    """The last member of a group with targets has gone, for which no target is computed."""
    fold.envelope = replace(fold.envelope, members=0)
    here = Evidence(text=f"the group is {standing.state}")
    _members(fold, standing.at_ms, here, None)


def deleted(fold: Intake, row: Row) -> None:
    fold.envelope = replace(fold.envelope, members=0, rebalanced_ms=())
    if fold.awaited:
        _members(fold, row.timestamp_ms, Evidence(source=source_of(row)), None)


def outlive(fold: Intake) -> frozenset[str]:
    """Codes of rules whose incidents outlive the group's deletion."""
    return frozenset({FEWER_MEMBERS.code}) if fold.awaited else frozenset()


def due_ms(fold: Intake) -> int | None:
    """When rebalances are few enough again, if none comes, by the coordinator's clock."""
    times = _too_many(fold)
    is_open = times and any(one.code == MORE_REBALANCES.code for one in fold.open().values())
    return times[0] + HOUR_MS if is_open else None


def fire(fold: Intake, at_ms: int, *, historic: bool) -> None:
    due = due_ms(fold)
    if due is not None and due <= at_ms:
        moment = fold.moment(at_ms, historic=historic)
        fold.publish([Notice(moment=moment, evaluated=frozenset({MORE_REBALANCES.code}))])


def look(fold: Intake, tick: Tick, last: LastRecord | None, progress: GroupProgress | None) -> None:
    """What the configuration, the clock and the last sample of its offsets say of the group. `last`: the record judged
    last."""
    expects, at_ms = fold.expects, clocks.groups_time(fold.envelope, tick.now_ms)
    open_now = {key: one.code for key, one in fold.open().items() if one.code in CODES}
    wanted = _wanted(expects)
    if not (wanted or open_now):
        return
    there = _there(fold)
    over = tuple(key for key, code in open_now.items() if code not in wanted)
    moment = fold.moment(at_ms, historic=False)
    notices = [Notice(moment=moment, over=over, why=NOT_EXPECTED)] if over else []
    if there is None and FEWER_MEMBERS.code in wanted:
        why = NOT_BY_NAME if fold.envelope.home is None or fold.envelope.deleted else NOT_COUNTED
        notices.append(Notice(moment=moment, evaluated=frozenset({FEWER_MEMBERS.code}), why=why))
    here = Evidence(text=f"read to the end at {utc(tick.now_ms)}") if last is None else Evidence(source=last.source)
    if there is not None and expects.members_at_least is not None:
        notices.append(_notice(fold, FEWER_MEMBERS, at_ms, _fewer(fold, there, at_ms, here, None)))
    if expects.rebalances_per_hour is not None:
        notices.append(_notice(fold, MORE_REBALANCES, at_ms, _more_rebalances(fold, at_ms, here)))
    if expects.lag_s is not None and progress is not None:
        notices += _lag(fold, progress, expects.lag_s, at_ms, here)
    fold.publish(notices)
    present = tuple(key for key, one in fold.open().items() if one.code in CODES and one.historic)
    if present:
        fold.publish([Notice(moment=moment, present=present)])
    fold.results += fold.book.attend(at_ms)


def _wanted(expects: Expectations) -> frozenset[str]:
    limits = (expects.members_at_least, expects.lag_s, expects.rebalances_per_hour)
    return frozenset(rule.code for rule, limit in zip(EXPECTATIONS, limits, strict=True) if limit is not None)


def _notice(fold: Intake, rule: Rule, at_ms: int, found: Finding | None, generation: int | None = None) -> Notice:
    """What was looked for at this time, and whether it was found. History, if the group's newest record is."""
    historic = None if generation is not None else False
    moment = fold.moment(at_ms, generation=generation, historic=historic)
    return Notice(moment=moment, found=() if found is None else (found,), evaluated=frozenset({rule.code}))


# -- members -------------------------------------------------------------------------------------------------------


def _counted(
    fold: Intake, members: int, at_ms: int, here: Evidence, number: int, found: Generation | None, *, new: bool
) -> None:
    """A record or target of a generation with so many members. `new`: a rebalance completed it."""
    limit = fold.expects.rebalances_per_hour
    known = fold.envelope.rebalanced_ms
    if limit is not None and new:
        since_ms = at_ms - HOUR_MS
        # What is later was completed by another clock, which was ahead: by more than an hour, it tells nothing.
        recent = tuple(min(one, at_ms) for one in known if since_ms < one <= at_ms + HOUR_MS)
        known = (*recent, at_ms)[-(limit + 1) :]
    fold.envelope = replace(fold.envelope, members=members, rebalanced_ms=() if limit is None else known)
    _members(fold, at_ms, here, found, number)
    if limit is not None:
        finding = _more_rebalances(fold, at_ms, here)
        fold.publish([_notice(fold, MORE_REBALANCES, at_ms, finding, number)])


def _members(fold: Intake, at_ms: int, here: Evidence, found: Generation | None, number: int | None = None) -> None:
    """What a record says of the number of members. `found`: the generation or target that it is."""
    if fold.expects.members_at_least is not None:
        generation = number if number is not None else fold.envelope.generation or 0
        finding = _fewer(fold, fold.envelope.members or 0, at_ms, here, found)
        fold.publish([_notice(fold, FEWER_MEMBERS, at_ms, finding, generation)])


def _there(fold: Intake) -> int | None:
    """How many members the group has; None where nobody knows, or where it need not be there."""
    known, awaited = fold.envelope, fold.awaited
    if known.deleted:
        return 0 if awaited else None
    if known.members is not None or not awaited:
        return known.members
    # Of a polled cluster brokers leave out what the monitor may not describe.
    return None if fold.settings.polled or known.home is not None or known.failing is not None else 0


def _fewer(fold: Intake, members: int, at_ms: int, here: Evidence, found: Generation | None) -> Finding | None:
    least = fold.expects.members_at_least
    if least is None or members >= least:
        return None
    never = fold.envelope.members is None
    text = f"at {utc(at_ms)} it had {counted(members, 'member')}, and {least} are expected"
    if never:
        text = f"no record of it was ever read, and {counted(least, 'member')} are expected"
    elif fold.envelope.deleted:
        text = f"at {utc(at_ms)} it was deleted, and {counted(least, 'member')} are expected"
    return finding_of(
        FEWER_MEMBERS,
        (Subject("group", fold.group),),
        text + ("" if found is None else f"{_gone(found)}{_standing_still(found)}"),
        (here,),
        severity=FEWER_MEMBERS.severity if members else Severity.HIGH,
        certainty=Certainty.LIKELY if never else Certainty.CERTAIN,
    )


def _gone(found: Generation) -> str:
    names = [one.id for cause in found.cause if cause.kind in WENT for one in cause.subjects]
    return f"; gone: {listed(dict.fromkeys(names))}" if names else ""


def _standing_still(found: Generation) -> str:
    """What nobody has in this generation, and until when."""
    delay_ms = found.connect.delay_ms
    until = f"{utc(found.at_ms + delay_ms)}, when the delay is over" if delay_ms else "a later generation gives it away"
    lost = {name for change in found.diff.values() for name in change.lost}
    names = found.connect.unassigned or sorted(lost.difference(*(change.gained for change in found.diff.values())))
    return f"; nobody has {listed(names)} until {until}" if names else ""


# -- rebalances ----------------------------------------------------------------------------------------------------


def _too_many(fold: Intake) -> tuple[int, ...]:
    """When the newest generations were completed that are one more than expected; () where there are not so many."""
    limit, known = fold.expects.rebalances_per_hour, fold.envelope.rebalanced_ms
    return known[-(limit + 1) :] if limit is not None and len(known) > limit else ()


def _more_rebalances(fold: Intake, at_ms: int, here: Evidence) -> Finding | None:
    times = _too_many(fold)
    if not times or at_ms >= times[0] + HOUR_MS:
        return None
    # Of several at once the clock before was ahead: when the first one was completed is not known.
    span = "until" if times[0] in times[1:] else f"from {utc(times[0])} to"
    what = f"{len(times)} generations were completed {span}" if len(times) > 1 else "a generation was completed at"
    text = f"{what} {utc(times[-1])}, and {len(times) - 1} within an hour are expected at most"
    return finding_of(MORE_REBALANCES, (Subject("group", fold.group),), text, (here,))


# -- lag -----------------------------------------------------------------------------------------------------------


def _lag(fold: Intake, progress: GroupProgress, limit_s: int, at_ms: int, here: Evidence) -> list[Notice]:
    """What a sample says; nothing where it is the one before, or does not tell. The time begins anew in any case where
    it does not show more."""
    lag_ms, now_ms, known = progress.lag_ms, progress.answered_ms, fold.envelope.more_lag_ms
    if known is not None and known[1] == now_ms:
        return []
    if lag_ms is None or lag_ms <= limit_s * 1_000:
        fold.envelope = replace(fold.envelope, more_lag_ms=None)
        return [] if lag_ms is None or progress.at_least else [_notice(fold, MORE_LAG, at_ms, None)]
    configured_ms = patience_ms(fold.settings, fold.group, MORE_LAG)
    waits_ms = PATIENCE_MS if configured_ms is None else configured_ms
    since_ms = now_ms if known is None or now_ms - known[1] > max(waits_ms, PATIENCE_MS) else known[0]
    fold.envelope = replace(fold.envelope, more_lag_ms=(since_ms, now_ms))
    if now_ms - since_ms < waits_ms:
        return []
    text = _behind(progress, lag_ms)
    finding = finding_of(
        MORE_LAG,
        (Subject("group", fold.group),),
        f"{text}; {limit_s} s are expected at most, and every sample since {utc(since_ms)} shows more",
        (here, Evidence(text=f"polled: {text}")),
    )
    return [_notice(fold, MORE_LAG, at_ms, finding)]


def _behind(progress: GroupProgress, lag_ms: int) -> str:
    """How old the first record is that the group has not read, and where."""
    worst = next((one for one in progress.partitions if one.lag_ms == lag_ms), None)
    where = "" if worst is None else f" on {worst.partition}{'' if worst.member is None else f' of {worst.member}'}"
    age = f"{'at least ' if progress.at_least else ''}{lag_ms // 1_000} s old{where}"
    return f"at {utc(progress.answered_ms)} the first record that it had not read was {age}"
