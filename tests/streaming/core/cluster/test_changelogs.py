"""Which topics are an application's changelogs, and what is kept of the samples of their end offsets."""

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.cluster.changelogs import (
    MOST_KEPT,
    ChangelogEnds,
    EndsOfGroups,
    changelogs_of,
    ends_at,
    with_ends,
)


def sample(at_ms: int) -> ChangelogEnds:
    return ChangelogEnds(at_ms - 1, at_ms, {"app-store-changelog-0": at_ms})


def test_changelogs_bear_the_name_of_their_application() -> None:
    topics = {
        "app-store-changelog": 2, "app-store-repartition": 2, "app": 1, "application-store-changelog": 1,
        "other-store-changelog": 1,
    }  # fmt: skip
    assert changelogs_of(["app", "without"], topics.items()) == {
        "app": [("app-store-changelog", 0), ("app-store-changelog", 1)]
    }


def test_the_longest_id_of_a_group_that_is_there_counts() -> None:
    topics = {"orders-s-changelog": 1, "orders-eu-s-changelog": 1, "orders-eu-west-s-changelog": 1}
    own = {"orders": [("orders-s-changelog", 0)]}
    assert changelogs_of(["orders"], topics.items(), ["orders", "orders-eu", "orders-eu-west"]) == own
    assert changelogs_of(["orders", "orders-eu"], topics.items(), ["orders-eu-west"]) == {
        **own,
        "orders-eu": [("orders-eu-s-changelog", 0)],
    }
    assert changelogs_of(["orders"], {"orders-changelog": 1, "-s-changelog": 1}.items(), [""]) == {}


@given(st.lists(st.integers(0, 100), unique=True).map(sorted), st.integers(-5, 105))
def test_the_last_sample_until_a_time_counts(times: list[int], at_ms: int) -> None:
    found = ends_at([sample(one) for one in times], at_ms)
    until = [one for one in times if one <= at_ms]
    assert (found.answered_ms if found else None) == (until[-1] if until else None)


def test_a_bounded_number_of_samples_is_kept_of_groups_that_are_watched() -> None:
    known: EndsOfGroups = {}
    for at_ms in range(1, 3 * MOST_KEPT):
        known = with_ends(known, {"app": sample(at_ms)}, {"app"})
    assert [one.answered_ms for one in known["app"]] == list(range(2 * MOST_KEPT, 3 * MOST_KEPT))
    assert with_ends(known, {}, {"app"}) is known, "an answer about other groups changes nothing"
    assert with_ends(known, {}, {"other"}) == {}
