"""A rebalance that does not end: the group's polled state, held against the longest that its members allow it.

Every member states a rebalance time-out when it joins, and the coordinator waits for the longest of them: once until
all have joined (PreparingRebalance), once until the leader has answered (CompletingRebalance). It writes a record when
the rebalance ends, and none before.

    10:00:00  record of generation 7: rebalance time-outs of 60 s at most
    10:05:01  polled: PreparingRebalance
    10:06:10  polled: still, 69 s later             stuck_rebalance opens
    10:07:41  record of generation 8, without m3    it is over: it names m3

A group that was seen in both states has twice the time. What is polled counts as far as records are read: a poll that
is newer than the tick may show a rebalance whose end is not read yet.

A group whose records nobody reads may complete rebalance after rebalance between two questions and be seen
rebalancing by each. An answer that shows it settled, or with other members than the one before, proves that it is not
stuck, and the time begins anew (`cluster.shown_groups`).

    10:00:00  polled: PreparingRebalance      described: m1, m2
    10:00:10  polled: PreparingRebalance      described: m1, m3       a generation may have come and gone: no finding
"""

from rebalance_monitor.streaming.core.clocks import coordinator as clocks
from rebalance_monitor.streaming.core.cluster.group_states import Rebalancing
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.incidents.of_every_group import STUCK_REBALANCE
from rebalance_monitor.streaming.core.model.messages import utc
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Subject
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from .intake import Intake
from .published import body_of

NAMED = 5
"""Members that a message names before it only counts them."""
ANEW = "the group was seen settled, or with other members"


def look(fold: Intake, tick: Tick, last: LastRecord | None) -> None:
    """Open `stuck_rebalance` if the group's rebalance has lasted too long at this tick. `last`: the record judged
    last."""
    seen, limit_ms = fold.knowledge.groups.rebalancing.get(fold.group), fold.envelope.longest_rebalance_ms
    if seen is None or limit_ms is None or last is None:
        return
    anew_ms = fold.knowledge.shown.anew_ms.get(fold.group, 0)
    known_ms = max(clocks.monitors_time(fold.envelope, last.at_ms), anew_ms)
    owner = fold.settings.owner_of(fold.group)
    who = "its members allow" if owner is None or owner.rebalance_timeout_ms is None else "its owner allows"
    text = _too_long(seen, limit_ms, known_ms, tick.now_ms, who)
    if text is None:
        _went_on(fold, anew_ms, tick)
        return
    finding = Finding(
        rule=STUCK_REBALANCE,
        severity=STUCK_REBALANCE.severity,
        certainty=Certainty.CERTAIN,
        subjects=(Subject("group", fold.group),),
        message=f"{text}; generation {fold.envelope.generation} was the last",
        evidence=(Evidence(source=last.source), Evidence(text=f"polled: {text}")),
    )
    at_ms = clocks.groups_time(fold.envelope, tick.now_ms)
    fold.publish([Notice(moment=fold.moment(at_ms, historic=False), found=(finding,))])
    fold.results += fold.book.attend(at_ms)


def _went_on(fold: Intake, anew_ms: int, tick: Tick) -> None:
    """End `stuck_rebalance` of a group that is polled, where an answer since has shown another state of things."""
    open_now = {key: one for key, one in fold.open().items() if one.code == STUCK_REBALANCE.code}
    over = tuple(
        key for key, one in open_now.items() if clocks.monitors_time(fold.envelope, one.opened_at_ms) < anew_ms
    )
    if over:
        at_ms = clocks.groups_time(fold.envelope, tick.now_ms)
        fold.publish([Notice(moment=fold.moment(at_ms, historic=False), over=over, why=ANEW)])
        fold.results += fold.book.attend(at_ms)


def _too_long(seen: Rebalancing, limit_ms: int, known_ms: int, read_ms: int, who: str) -> str | None:
    """The sentence that says since when; None if it is not too long yet. `known_ms`: the time of the last record, or
    of the last answer that proves that the rebalance began later, or went on; `who` allows the limit."""
    until_ms = min(seen.seen_ms, read_ms)
    here_ms, begun_ms = max(seen.since_ms, known_ms), max(seen.begun_ms, known_ms)
    if until_ms - here_ms > limit_ms:
        return f"in {seen.state} since {utc(here_ms)}, longer than the {limit_ms // 1_000} s that {who}"
    if until_ms - begun_ms > 2 * limit_ms:
        return (
            f"rebalancing since {utc(begun_ms)}, now in {seen.state}, longer than twice the {limit_ms // 1_000} s "
            f"that {who}"
        )
    return None


def ended(fold: Intake, row: Row, before: frozenset[str]) -> None:
    """End `stuck_rebalance` with a record, and say who was waited for. `before`: the members of the record before."""
    over = tuple(key for key, one in fold.open().items() if one.code == STUCK_REBALANCE.code)
    if over:
        now = frozenset(member.member_id for member in body_of(row).members)
        moment = fold.moment(row.timestamp_ms, generation=body_of(row).generation, historic=False)
        fold.publish([Notice(moment=moment, over=over, why=_waited_for(before, now))])


def _waited_for(before: frozenset[str], now: frozenset[str]) -> str:
    missing = sorted(before - now)
    if missing:
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        return f"it ended without {', '.join(missing[:NAMED])}{more}, which did not join again"
    if before:
        return "it ended when every member had joined again; no record tells which was the last"
    return "it ended with the first record of the group"
