"""What a leader's release changes in the answers of Kafka Streams' assignors.

The releases of one era give the same answer to the same input. A monitor that does not know the leader's release can
run an answer through each era and keep those that agree.
"""

from dataclasses import dataclass

from .tasks import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Era:
    """One row of the table of eras; every switch says what that era does differently from the one before.

    `most_caught_up`: a task whose hosts are all behind goes to the most caught-up one; before, it stayed anywhere.
    `movements_polled`: movements are taken by priority; before, in the order of the heap's array. `threads_share_load`:
    actives and standbys are spread over the threads of a client together; before, apart. `unknown_tasks_fail`: a
    reported task that no longer exists makes the leader fail. `running_counts_as_unknown`: where end offsets could not
    be read, the lag of a task that runs is not known either. `tags`, `racks`: tag-aware standbys and rack-aware
    placement exist. `balances_subtopologies`: the strategy `balance_subtopology` exists, and the search for a cheaper
    placement starts from all nodes at once. `transient_needs_history`: a withheld task gets a standby in the meantime
    only where it was a standby before. `standbys_of_all`: stateless tasks get standbys too, and previous tasks are what
    members report, whatever partitions they own. `high_availability` and
    `plug_ins`: that assignor, and KIP-924, exist.
    """

    name: str
    since: Release
    high_availability: bool = True
    standbys_of_all: bool = False
    unknown_tasks_fail: bool = False
    running_counts_as_unknown: bool = False
    most_caught_up: bool = True
    movements_polled: bool = True
    threads_share_load: bool = True
    tags: bool = True
    racks: bool = True
    balances_subtopologies: bool = True
    transient_needs_history: bool = True
    plug_ins: bool = True


def _before_racks(name: str, since: Release, **changes: bool) -> Era:
    off = {"racks": False, "balances_subtopologies": False, "transient_needs_history": False, "plug_ins": False}
    return Era(name=name, since=since, **{**off, **changes})


_FIRST = {"most_caught_up": False, "movements_polled": False, "threads_share_load": False, "tags": False}

ERAS: tuple[Era, ...] = (
    _before_racks("S, up to 2.5", (0, 0), **_FIRST, high_availability=False, standbys_of_all=True),
    _before_racks("A, 2.6", (2, 6), **_FIRST, unknown_tasks_fail=True, running_counts_as_unknown=True),
    _before_racks("A, 2.7 to 3.0", (2, 7), **_FIRST, unknown_tasks_fail=True),
    _before_racks("A, 3.1", (3, 1), **_FIRST),
    _before_racks("B, 3.2", (3, 2), movements_polled=False),
    _before_racks("C, 3.3 to 3.5.1", (3, 3)),
    _before_racks("D, 3.5.2", (3, 5, 2), transient_needs_history=True),
    Era(name="E, 3.6", since=(3, 6), balances_subtopologies=False, plug_ins=False),
    Era(name="F, 3.7", since=(3, 7), plug_ins=False),
    Era(name="F, since 3.8", since=(3, 8)),
)
NEWEST = ERAS[-1]
FIRST_WITH_PLUG_INS = next(era.since for era in ERAS if era.plug_ins)


def release_of(text: str) -> Release:
    """The numbers of a release such as "3.5.2". Raises ValueError for anything else."""
    return tuple(int(part) for part in text.split("."))


def era_of(release: Release) -> Era:
    """The era of a leader's release; releases newer than all known ones count as the newest."""
    return max((era for era in ERAS if era.since <= release), key=lambda era: era.since)
