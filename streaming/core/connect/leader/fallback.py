"""What a leader may remember where its rounds were not seen (connect.md 5.6).

    before the first record     anything; after it nearly all is determined by the record (`after_unknown`)
    missing generations         what was carried, or what an unseen round of this leader left behind (`after_gap`)

A generation that nobody completed leaves no record: then the leader distrusts its memory, which is empty or, if its
last revocations were not carried out, just what is held. A generation that was completed, but whose record was
compacted away before it was read, leaves more than is held: the jobs that wait. What only a fallback reproduces is
explainable, never a match. For what no fallback reproduces, `unknown_memory` looks whether any memory does.
"""

from collections.abc import Iterable, Iterator
from itertools import product

from rebalance_monitor.assignors.connect.eras import ERAS
from rebalance_monitor.assignors.connect.model import Jobs, LeaderMemory
from rebalance_monitor.assignors.java_table import hash_map_order
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask, Observed
from .hypotheses import Carried, jobs
from .packed import LeaderHypothesis

BACK_OFFS = 4
"""Balancing rounds in a row after which every further pause is the longest."""
_GONE = "a member of an unseen generation"


def after_gap(
    hypotheses: Iterable[LeaderHypothesis],
    observed: Observed,
    configured: frozenset[ConnectorOrTask],
    configured_before: frozenset[ConnectorOrTask],
) -> Iterator[LeaderHypothesis]:
    """What unseen rounds of this leader may have left behind, for each mind carried up to them.

    `configured_before` is what was configured at the last record before the gap. The unseen rounds may have opened a
    delay whose end this record's own delay shows, or let one run out; members that are idle now may have become
    candidates; anybody may have come and gone; the leader may have begun to balance.
    """
    present = frozenset(observed.views)
    idle = _idle(observed)
    lists = remembered_jobs(observed, configured, configured_before)
    for hypothesis in hypotheses:
        memory = hypothesis.memory
        windows = dict.fromkeys(((memory.scheduled_ms, memory.delay_ms), (0, 0), _window(observed)))
        previous = dict.fromkeys((memory.previous, *lists))
        count = memory.successive_revocations
        balances = _balances(hypothesis.era, (count, count + 1, 0))
        for (scheduled_ms, delay_ms), listed, members, balance in product(
            windows, previous, (present, present | {_GONE}), balances
        ):
            changed = replace(
                balance,
                previous=listed,
                previous_generation=memory.previous_generation,
                scheduled_ms=scheduled_ms,
                delay_ms=delay_ms,
                candidates=tuple(dict.fromkeys((*memory.candidates, *idle))) if scheduled_ms else (),
                previous_members=members,
            )
            yield replace(hypothesis, memory=changed)


def remembered_jobs(
    observed: Observed, configured: frozenset[ConnectorOrTask], configured_before: frozenset[ConnectorOrTask]
) -> tuple[Jobs, ...]:
    """What the round before may have been remembered for: nothing; what is held; that and what waits, of all that was
    configured then, or is now, or now is neither held nor handed out while a delay runs."""
    held = observed.reported()
    more = [frozenset[ConnectorOrTask](), held, held | configured_before, held | configured]
    if observed.delay_ms:
        more.append(held | (configured - observed.assigned()))
    return tuple(dict.fromkeys(map(jobs, more)))


def _window(observed: Observed) -> tuple[int, int]:
    """A delay opened unseen: it ends when this record says, or has ended just before this round."""
    if observed.delay_ms:
        return observed.at_ms + observed.delay_ms, observed.delay_ms
    return max(observed.state_ms, 1) - 1, 1


def _idle(observed: Observed) -> list[str]:
    """Members without a job, in the order in which a leader makes them candidates."""
    return hash_map_order(member_id for member_id, view in observed.views.items() if not view.held).keys()


def _balances(era: str, counts: Iterable[int]) -> tuple[LeaderMemory, ...]:
    """What a leader may remember of balancing: it did not revoke; or it did, that many times in a row.

    Before 3.4 it is not counted; there a leader may balance in the next round or may not.
    """
    if not ERAS[era].balances_fully:
        return LeaderMemory(), LeaderMemory(can_revoke=False)
    revoked = [LeaderMemory(revoked_in_previous=True, successive_revocations=count) for count in dict.fromkeys(counts)]
    return LeaderMemory(), *revoked


def recounted(hypotheses: Iterable[LeaderHypothesis]) -> Iterator[LeaderHypothesis]:
    """The same with every other number of balancing rounds in a row: the number is kept, whatever comes between."""
    for hypothesis, count in product(hypotheses, range(BACK_OFFS)):
        if ERAS[hypothesis.era].balances_fully and count != hypothesis.memory.successive_revocations:
            yield replace(hypothesis, memory=replace(hypothesis.memory, successive_revocations=count))


def after_unknown(
    observed: Observed,
    configured: frozenset[ConnectorOrTask],
    eras: Iterable[str],
    max_delay_ms: int | None,
    at_least_ms: int,
) -> Iterator[LeaderHypothesis]:
    """Memory after a round whose start is not known, as far as the record determines it.

    `max_delay_ms` is the maximum delay of the process, None if it is not known; then it is at least `at_least_ms`.

    Not determined: whether revocations were for balance, how many such rounds it were in a row, and who became a
    candidate before this round; members idle in this one did if it holds a delay for lost jobs. Before 3.4 a round that
    holds a delay forbids the next one to balance, and one that revoked nothing allows it. A delay of 0 ms may be held,
    too (`hides_delay`).
    """
    revoked = observed.revoked()
    held = observed.hands() - revoked
    lying = configured - held - revoked
    memory = LeaderMemory(
        previous=jobs(held | observed.taken_back()),
        previous_revoked=jobs(revoked),
        previous_generation=observed.generation,
        previous_members=frozenset(observed.views),
    )
    delayed = replace(
        memory,
        previous=jobs(held | lying | observed.taken_back()),
        scheduled_ms=observed.at_ms + observed.delay_ms,
        delay_ms=observed.delay_ms,
    )
    delays = [replace(delayed, candidates=chosen) for chosen in dict.fromkeys([tuple(_idle(observed)), ()])]
    for era in eras:
        hidden = hides_delay(LeaderHypothesis(era, memory, max_delay_ms, at_least_ms), lying=bool(lying))
        for known in delays if observed.delay_ms else [memory, *delays] if hidden else [memory]:
            for balance in _balances(era, range(BACK_OFFS)):
                if balance != LeaderMemory() and not (revoked or known.scheduled_ms):
                    continue
                changed = replace(
                    known,
                    revoked_in_previous=balance.revoked_in_previous,
                    can_revoke=balance.can_revoke and not (observed.delay_ms and not ERAS[era].balances_fully),
                    successive_revocations=balance.successive_revocations,
                )
                yield LeaderHypothesis(era, changed, max_delay_ms, at_least_ms if max_delay_ms is None else 0)


def hides_delay(hypothesis: LeaderHypothesis, *, lying: bool) -> bool:
    """Whether a delay of 0 ms may run in this mind, which no answer announces. Until 3.5.1 lost jobs wait for the next
    round even then, and until 2.3 the delay goes on when they have gone. `lying`: jobs are in nobody's hands."""
    era = ERAS[hypothesis.era]
    if hypothesis.max_delay_ms is None:
        possible = not hypothesis.at_least_ms and (lying or not era.ends_idle_delay)
    else:
        possible = hypothesis.max_delay_ms == 0
    return possible and not era.places_at_once_without_delay


def hides_delays(carried: Carried, *, lying: bool) -> bool:
    """Whether the answers may not tell which delay runs: one of 0 ms, or one that goes on when nothing is lost any more
    (until 2.3)."""
    return any(hides_delay(one, lying=lying) or not ERAS[one.era].ends_idle_delay for one in carried.hypotheses)
