"""The rolling restart of a Connect group through mixed protocols or releases: what each step moves, as the group is
now.

The group speaks the highest protocol that all workers offer, and each offers the lower ones, too. So one restart is
enough: a higher protocol comes when the last worker leaves that has the old one, a lower one when the first is back.
Both incremental protocols assign alike. The leader's release and its delay decide, so it is restarted last.

    w1 (leads)   w2 new   w3       the leader's release assigns, in the old protocol
                 w2 new   w3 new   a new leader, which remembers nothing, in the new protocol
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, product

from rebalance_monitor.assignors.connect.round import CannotAssign
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.advice.cluster import RESTART_MS, Worker
from rebalance_monitor.streaming.core.connect.leader.hypotheses import DEFAULT_MAX_DELAY_MS
from rebalance_monitor.streaming.core.connect.observed import EAGER
from rebalance_monitor.streaming.stories.durations import exact
from rebalance_monitor.streaming.stories.known import Published, names_of
from .change import CannotPredict, Concerned, GroupChange, Ids, ids_to_come
from .connect_figures import figures_of, held_by
from .connect_history import (
    INCREMENTAL,
    UNKNOWN_PROTOCOL,
    ConnectSetting,
    PlayedBy,
    begin,
    begins_at,
    check,
    played_by,
)
from .connect_past import shown_max_delay_ms
from .history import HistoryFigures
from .other_members import last_life
from .rolling import RollingRestart, steps_of

PROTOCOLS = (EAGER, *INCREMENTAL)
"""The lowest first."""
TRIED_IDS = 4
MOST_RESTARTED = 50
_PRESUMED = "nobody else comes or goes, and each worker leaves as it ends"
_DELAY = "until the last step scheduled.rebalance.max.delay.ms is {}: no known rebalance shows it"


def rolling_restart(
    generations: Sequence[Published], setting: ConnectSetting, ids: Ids = ids_to_come
) -> RollingRestart:
    """`generations`: the newest first. CannotPredict, WrongChange."""
    last = generations[0]
    check(last_life(generations), setting)
    if not begins_at(last):
        raise CannotPredict(
            "nobody is in the group, workers wait or give up something, or its last verdict is no match"
        )
    if len(last["members"]) > MOST_RESTARTED:
        raise CannotPredict(f"the group has more than {MOST_RESTARTED} workers")
    names = names_of(last)
    order = sorted(names, key=lambda one: (one == last["leader"], names[one]))
    who = Concerned((), tuple(order), names)
    courses = []
    shown = shown_max_delay_ms(generations) is not None
    for known, asked in played_by(generations, setting):
        # Where no rebalance shows the delay until then, the one that is asked about may be it.
        delays = (known.delay_ms,) if shown or setting.delay_ms is None else (known.delay_ms, setting.delay_ms)
        for delay_ms, rules in product(delays, asked):
            own = replace(known, delay_ms=delay_ms)
            for _, back in islice(ids(GroupChange(), who, last), TRIED_IDS):
                with suppress(CannotAssign):
                    courses.append(list(_course(last, own, rules, [(one, back[one]) for one in order])))
    if not courses:
        raise CannotPredict(UNKNOWN_PROTOCOL)
    protocol = setting.protocol or last["protocol"]
    mixed = min(protocol, last["protocol"], key=PROTOCOLS.index)
    then = [mixed] * (len(order) - 1) + [protocol]
    return RollingRestart(
        title="one rolling restart, the leader last",
        steps=steps_of([names[one] for one in order], then, courses),
        presumed=_PRESUMED if shown or not _waits(courses) else f"{_PRESUMED}; {_presumed_delay(setting)}",
        away_ms=RESTART_MS,
    )


def _presumed_delay(setting: ConnectSetting) -> str:
    default = f"Kafka's default, {exact(DEFAULT_MAX_DELAY_MS)}"
    return _DELAY.format(default if setting.delay_ms is None else f"{default}, or {exact(setting.delay_ms)}")


def _waits(courses: Iterable[Sequence[HistoryFigures]]) -> bool:
    return any(step.idle_ms for course in courses for step in course)


def _course(
    last: Published, own: PlayedBy, asked: PlayedBy, order: Sequence[tuple[str, str]]
) -> Iterator[HistoryFigures]:
    """`order`: member ids before and after, in the order of the restarts."""
    cluster = begin(last, own)
    for place, (old, new) in enumerate(order, 1):
        held = held_by(cluster)
        del cluster.workers[old]
        from_eager = place == len(order) and cluster.protocol == EAGER and asked.protocol is not None
        if place == len(order):
            cluster.max_delay_ms, cluster.protocol = asked.delay_ms, asked.protocol or cluster.protocol
        if cluster.workers:
            cluster.rebalance()
        cluster.wait(RESTART_MS)
        cluster.workers[new] = Worker(era=asked.era)
        cluster.rebalance()
        cluster.settle()
        yield figures_of(cluster, held, from_eager=from_eager)
        cluster.rounds.clear()
        cluster.waited_ms.clear()
