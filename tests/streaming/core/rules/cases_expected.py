"""Cases of what owners expect of their groups: GROUP-E1 to GROUP-E3."""

from dataclasses import replace

from rebalance_monitor.streaming.core.incidents.of_every_group import FEWER_MEMBERS, MORE_LAG, MORE_REBALANCES
from rebalance_monitor.streaming.core.model.results import Severity
from rebalance_monitor.streaming.core.model.settings import Damping, Expectations, Owner
from tests.streaming.core.comings_and_goings import MINUTE_MS, SECOND_MS, Pods
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.cases_progress import EVERY_MS, polled
from tests.streaming.core.rules.cases_progress import nobody_asked as unsampled
from tests.streaming.core.rules.cases_progress import whole as whole_group

FEWER, LAG, REBALANCES = FEWER_MEMBERS.code, MORE_LAG.code, MORE_REBALANCES.code
SIX = 6


def owned(
    story: Story,
    groups: str = f"{GROUP}*",
    *,
    damping: dict[str, Damping] | None = None,
    **expects: int,
) -> Story:
    """The group has an owner who expects this of it."""
    owner = Owner(groups=groups, team="t", damping=damping or {}, expects=Expectations(**expects))
    story.settings = replace(story.settings, owners=(owner,))
    return story


def six(*, groups: str = f"{GROUP}*", least: int = SIX) -> Pods:
    """Six members of whom as many are expected."""
    pods = Pods()
    pods.come(*(pods.pod(number) for number in range(SIX)))
    owned(pods.story, groups, members_at_least=least)
    return pods.wait(30 * MINUTE_MS)


def without_one(pods: Pods) -> Pods:
    pods.go_of(pods.pod(3))
    return pods


def one_of_six_is_gone() -> Story:
    return without_one(six()).story.until(10 * MINUTE_MS)


def nothing_is_expected() -> Story:
    pods = without_one(six())
    pods.story.settings = replace(pods.story.settings, owners=(Owner(groups="other-*", team="t"),))
    return pods.story.until(10 * MINUTE_MS)


def deleted() -> Story:
    pods = six()
    pods.go(*pods.there)
    pods.story.rows.pop()
    pods.story.offsets["__consumer_offsets"] -= 1
    pods.story.tombstone()
    return pods.story.until(10 * MINUTE_MS)


def old(_: int) -> tuple[int, int]:
    """What is committed stands still, and all that is behind it was written before the first sample."""
    return 100, 130


def too_old() -> Story:
    story = polled(whole_group(), {"a-0": old, "a-1": lambda number: (number, number)}, for_ms=4 * EVERY_MS)
    return owned(story, damping={LAG: Damping(for_ms=0)}, lag_s=60)


def less_in_between() -> Story:
    """The last sample shows none."""
    return owned(polled(whole_group(), {"a-0": lambda number: (100 + number, 100 + number)}), lag_s=60)


def does_not_reach_back() -> Story:
    return owned(unsampled(), lag_s=60)


def members_come(*after_ms: int, expected: int, again: bool = False) -> Story:
    """One generation so long after the other. `again`: the last one is written once more."""
    pods = Pods()
    for number, each in enumerate(after_ms):
        pods.come(pods.pod(number, static=True), after_ms=each)
    if again:
        pods.replaced(pods.pod(0, static=True), again=True)
    return owned(pods.story, rebalances_per_hour=expected)


def three_within_an_hour() -> Story:
    return members_come(SECOND_MS, MINUTE_MS, 58 * MINUTE_MS, expected=2)


def three_in_more_than_an_hour() -> Story:
    return members_come(SECOND_MS, MINUTE_MS, 59 * MINUTE_MS, expected=2)


def written_again() -> Story:
    return members_come(SECOND_MS, MINUTE_MS, expected=2, again=True)


CASES: tuple[Case, ...] = (
    Broken(
        code=FEWER,
        story=one_of_six_is_gone,
        severity=Severity.MEDIUM,
        subjects=(f"group {GROUP}",),
        says="it had 5 members, and 6 are expected",
    ),
    NearMiss(code=FEWER, exception="nothing is expected of the group", story=nothing_is_expected),
    NearMiss(code=FEWER, exception="a group that was deleted, unless it is expected by its whole name", story=deleted),
    Broken(
        code=LAG,
        story=too_old,
        severity=Severity.MEDIUM,
        subjects=(f"group {GROUP}",),
        says="the first record that it had not read was at least 120 s old on a-0 of m1; 60 s are expected at most",
    ),
    NearMiss(code=LAG, exception="samples in between that show less", story=less_in_between),
    NearMiss(
        code=LAG,
        exception="no offsets were sampled, or samples do not reach back so far",
        story=does_not_reach_back,
    ),
    Broken(
        code=REBALANCES,
        story=three_within_an_hour,
        severity=Severity.MEDIUM,
        subjects=(f"group {GROUP}",),
        says="3 generations were completed from 2027-01-15 08:00:01 UTC to 2027-01-15 08:59:01 UTC, and 2 within an "
        "hour are expected at most",
    ),
    NearMiss(code=REBALANCES, exception="generations farther apart", story=three_in_more_than_an_hour),
    NearMiss(code=REBALANCES, exception="a record that is written again without a rebalance", story=written_again),
)
