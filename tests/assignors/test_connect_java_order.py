"""Java's order of strings and hash collections: values taken from a JVM, and the laws behind them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.assignors.connect.eras import ERAS, era_of, parse_release
from rebalance_monitor.assignors.connect.wire_entries import wire_entries_assigned, wire_entries_revoked
from rebalance_monitor.assignors.java_order import java_hash, sorted_names, sorted_tasks, task_hash, utf16_key
from rebalance_monitor.assignors.java_table import (
    copied_set,
    copied_set_capacity,
    grouping_order,
    hash_map_order,
    hash_order,
    set_copy_order,
)

JVM_STRINGS = {
    "worker1": (1525161075, 11, 27),
    "worker9": (1525161083, 3, 19),
    "worker10": (35353117, 6, 6),
    "connector1": (-775645820, 0, 0),
    "mm2-MirrorSourceConnector": (-639386728, 11, 27),
    "Aa": (2112, 0, 0),
    "BB": (2112, 0, 0),
    "é": (233, 9, 9),
    "日本": (835047, 11, 11),
    "😀x": (54959989, 3, 19),
}
names = st.text(st.sampled_from("Aa B1é\ue000￿😀"), max_size=5)


@pytest.mark.parametrize("text", JVM_STRINGS)
def test_strings_hash_as_on_a_jvm(text: str) -> None:
    signed, of_16, of_32 = JVM_STRINGS[text]
    h = java_hash(text)
    spread = h ^ h >> 16
    assert (h, spread & 15, spread & 31) == (signed % 2**32, of_16, of_32)


def test_tasks_hash_as_on_a_jvm() -> None:
    assert task_hash(("connector1", 0)) == 1724783356
    assert task_hash(("連", 3)) == 1143872


def test_a_map_walks_its_buckets() -> None:
    assert hash_map_order(["alpha", "beta", "gamma", "delta", "epsilon"]).keys() == [
        "epsilon",
        "alpha",
        "delta",
        "beta",
        "gamma",
    ]


def test_java_19_changed_the_size_of_a_copied_set() -> None:
    twelve = [f"c{n}" for n in range(12)]
    old = ["c11", "c10", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"]
    new = ["c3", "c4", "c5", "c11", "c6", "c10", "c7", "c8", "c9", "c0", "c1", "c2"]
    assert list(set_copy_order(twelve, 17)) == list(set_copy_order(twelve, 18)) == old
    assert list(set_copy_order(twelve, 19)) == hash_map_order(twelve).keys() == new


def test_the_two_rules_for_copied_sets_differ_only_at_dozens() -> None:
    differ = [k for k in range(3000) if copied_set_capacity(k, 18) != copied_set_capacity(k, 19)]
    assert differ == [12 * 2**n for n in range(8)]


@given(st.lists(names))
def test_names_sort_by_code_unit(listed: list[str]) -> None:
    assert sorted_names(listed) == sorted(listed, key=utf16_key)


def test_a_surrogate_pair_sorts_before_the_private_area() -> None:
    assert sorted_names(["\ue000", "😀"]) == ["😀", "\ue000"]
    assert sorted_tasks([("\ue000", 0), ("😀", 10), ("😀", 9)]) == [("😀", 9), ("😀", 10), ("\ue000", 0)]


@given(st.lists(st.tuples(names, st.integers(0, 300)), max_size=200), st.sampled_from([8, 17, 21]))
def test_a_copied_set_keeps_every_element_once(listed: list[tuple[str, int]], java_version: int) -> None:
    order = set_copy_order(listed, java_version)
    assert len(order) == len(set(listed))
    assert set(order) == set(listed)


@given(st.lists(names, unique=True, max_size=40))
def test_equal_buckets_keep_the_order_of_insertion(listed: list[str]) -> None:
    order = hash_map_order(listed)
    again = order.keys()
    if order.unsure:
        return
    for left, right in pairwise(again):
        if java_hash(left) == java_hash(right):
            assert listed.index(left) < listed.index(right)


def test_a_crowded_bucket_grows_a_small_table_and_is_unsure_in_a_large_one() -> None:
    """Nine names of one hash double the table twice, to 64 buckets; the eleventh finds it large enough for a tree."""
    twins = [f"{a}{b}{c}{d}" for a in ("Aa", "BB") for b in ("Aa", "BB") for c in ("Aa", "BB") for d in ("Aa", "BB")]
    assert len({java_hash(name) for name in twins}) == 1
    assert not hash_map_order(twins[:10]).unsure
    assert hash_map_order(twins[:11]).unsure
    assert copied_set(twins, 17).unsure


def test_grouping_puts_the_newest_key_of_a_bucket_first() -> None:
    assert grouping_order(["Aa", "BB", "Aa"]) == (["BB", "Aa"], False)
    assert hash_order(["Aa", "BB", "Aa"]).keys() == ["Aa", "BB"]


def test_grouping_makes_a_tree_of_eight() -> None:
    """Sixteen names of one hash, as `Collectors.groupingBy` of a JVM yields them."""
    twins = [f"{a}{b}{c}{d}" for a in ("Aa", "BB") for b in ("Aa", "BB") for c in ("Aa", "BB") for d in ("Aa", "BB")]
    walked = (
        "AaBBBBAa BBAaAaBB BBAaBBAa BBAaBBBB BBBBAaAa BBBBAaBB BBBBBBAa BBBBBBBB BBAaAaAa AaBBBBBB AaBBAaBB AaBBAaAa"
    )
    assert grouping_order([*twins, *twins]) == ([*walked.split(), "AaAaBBBB", "AaAaBBAa", "AaAaAaBB", "AaAaAaAa"], True)


def test_grouping_grows_one_call_late() -> None:
    """The second list repeats a key; only that call finds the table too full. Values from a JVM."""
    thirteen = [f"c{n}" for n in range(13)]
    assert grouping_order(thirteen)[0] == [
        "c3",
        "c4",
        "c11",
        "c5",
        "c10",
        "c6",
        "c7",
        "c12",
        "c8",
        "c9",
        "c0",
        "c1",
        "c2",
    ]
    assert grouping_order([*thirteen, "c0"])[0] == [
        "c11",
        "c10",
        "c12",
        "c0",
        "c1",
        "c2",
        "c3",
        "c4",
        "c5",
        "c6",
        "c7",
        "c8",
        "c9",
    ]


def test_keys_of_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="no Java hash"):
        set_copy_order([1.5, 2.5], 17)


def test_entries_group_tasks_under_their_connector() -> None:
    tasks = [("b", 1), ("z", 0), ("b", 0), ("z", 0)]
    assert wire_entries_assigned(["b", "a"], tasks, 17) == (("a", (-1,)), ("b", (-1, 1, 0)), ("z", (0, 0)))
    assert wire_entries_revoked(["b", "a", "b"], tasks) == (("b", (-1, 1, 0)), ("a", (-1,)), ("z", (0, 0)))


@pytest.mark.parametrize(
    ("release", "era"),
    [
        ("2.3.1", "A0"),
        ("2.5.0", "A1"),
        ("2.6.1", "A2"),
        ("2.6.2", "A3a"),
        ("2.7.0", "A2"),
        ("2.7.1", "A3a"),
        ("3.2.3", "A3a"),
        ("3.3.2", "A3b"),
        ("3.5.1", "A4"),
        ("3.5.2", "A5"),
        ("3.6.0", "A4"),
        ("3.6.1", "A5"),
        ("7.6.0-ccs", "A5"),
        ("4.0.0-SNAPSHOT", "A5"),
    ],
)
def test_every_release_belongs_to_one_era(release: str, era: str) -> None:
    assert era_of(release).name == era
    numbers = parse_release(release)
    assert [e.name for e in ERAS.values() if any(numbers in span for span in e.spans)] == [era]


@pytest.mark.parametrize("release", ["2.2.2", "", "trunk"])
def test_releases_without_the_assignor_are_refused(release: str) -> None:
    with pytest.raises(ValueError, match="Kafka"):
        era_of(release)


def test_eras_say_when_they_began_and_ended() -> None:
    assert [(era.since, era.until) for era in ERAS.values()][-2:] == [("3.4.0", "3.6.0"), ("3.5.2", None)]
