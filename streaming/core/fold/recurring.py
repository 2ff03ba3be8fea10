"""Findings that end before people are told of them, and come again and again.

Some harm is over with the next generation: two members have one partition until the first one has given it up, a second
later. Once, that is history. If it comes in a third generation within an hour, its cause lasts, and the group has a
finding of its own until an hour after the last: it is damped like any other.

    10:00:00  generation 7    partition_taken_early of topic a      opened, not yet notified
    10:00:01  generation 8    not so                                resolved
    10:10:00  generation 12   again;  10:20:00 generation 15 again  opened for the group, notified after its damping
    11:20:00  no such generation since                              resolved

A rule says of itself that it is such a one (`Rule.recurs`).
"""

from collections.abc import Sequence

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.transitions import PartKey, key_of
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity, Source, Subject
from .intake import Intake

TIMES, WITHIN_MS = 3, 3_600_000


def recorded(fold: Intake, outputs: Sequence[Output], source: Source, at_ms: int) -> list[Output]:
    """What a session said of a record of this time, with what has come again and again."""
    codes = fold.registry.catalogue.recurring
    return [_with(fold, one, codes, source, at_ms) if isinstance(one, Notice) else one for one in outputs]


def due_ms(fold: Intake) -> int | None:
    """When the next of these findings is over, if it does not come again, by the coordinator's clock."""
    known = fold.envelope.recurrences
    times = [at_ms[-1] + WITHIN_MS for code, at_ms in known.items() if at_ms and _key(fold, code) in fold.open()]
    return min(times, default=None)


def fire(fold: Intake, at_ms: int, *, historic: bool) -> None:
    known = fold.envelope.recurrences
    if not known:
        return
    late = {code for code, times in known.items() if times[-1] + WITHIN_MS <= at_ms}
    over = tuple(key for code in sorted(late) if (key := _key(fold, code)) in fold.open())
    left = {code: times for code, times in known.items() if code not in late}
    fold.envelope = replace(fold.envelope, recurrences=left)
    if over:
        fold.publish([Notice(moment=fold.moment(at_ms, historic=historic), over=over)])


def _with(fold: Intake, notice: Notice, codes: frozenset[str], source: Source, at_ms: int) -> Notice:
    broken = {one.rule.code for one in notice.found}
    asked = codes & (notice.evaluated | broken)
    if asked.isdisjoint(broken | fold.envelope.recurrences.keys()):
        return notice
    known = dict(fold.envelope.recurrences)
    added = list[Finding]()
    for code in sorted(asked):
        here = [one for one in notice.found if one.rule.code == code and one.severity is not Severity.INFO]
        times = tuple(one for one in known.get(code, ()) if one <= at_ms) + ((at_ms,) if here else ())
        known[code] = times[-TIMES:]
        if _often(known[code], at_ms):
            added.append(_finding(fold, fold.registry.catalogue.rule(code), known[code], source))
    known = {code: times for code, times in known.items() if times}
    fold.envelope = replace(fold.envelope, recurrences=known)
    return replace(notice, found=(*notice.found, *added)) if added else notice


def _often(times: Sequence[int], at_ms: int) -> bool:
    return len(times) == TIMES and times[-1] - times[0] < WITHIN_MS and at_ms < times[-1] + WITHIN_MS


def _finding(fold: Intake, rule: Rule, times: Sequence[int], source: Source) -> Finding:
    return Finding(
        rule=rule,
        severity=rule.severity,
        certainty=Certainty.CERTAIN,
        subjects=_subjects(fold),
        message=f"found in {TIMES} generations within {max((times[-1] - times[0]) // 1_000, 1)} s, each time over with "
        "a later one: what causes it lasts",
        evidence=(Evidence(source=source),),
    )


def _subjects(fold: Intake) -> tuple[Subject, ...]:
    return (Subject("group", fold.group),)


def _key(fold: Intake, code: str) -> PartKey:
    return key_of(code, _subjects(fold))
