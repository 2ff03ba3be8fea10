"""Orders and hashes of Streams' ids, and Java's priority queue: values that Java itself printed."""

from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.assignors.java_heap import JavaHeap
from rebalance_monitor.assignors.java_order import java_hash
from rebalance_monitor.assignors.streams.tasks import (
    HashOrders,
    TaskId,
    old_task_hash,
    partition_hash,
    process_hash,
    process_key,
    sorted_tasks,
    task_hash,
    task_of,
)


@pytest.mark.parametrize(
    ("text", "hashed"),
    [("0_0", 29791), ("0_1", 29822), ("1_0", 30752), ("3_17", 33201), ("topo__2_3", 3597816)],
)
def test_hash_of_a_task(text: str, hashed: int) -> None:
    assert task_hash(task_of(text)) == hashed
    assert str(task_of(text)) == text


def test_old_hash_of_a_task_forgets_the_subtopology() -> None:
    assert old_task_hash(TaskId(0, 1)) == old_task_hash(TaskId(1, 0)) == 1


@pytest.mark.parametrize(
    ("text", "hashed"),
    [("00112233-4455-6677-8899-aabbccddeeff", 0), ("80000000-0000-0000-0000-000000000001", -2147483647)],
)
def test_hash_of_a_process(text: str, hashed: int) -> None:
    assert process_hash(UUID(text)) == hashed % (1 << 32)


def test_hash_of_partitions_and_texts() -> None:
    assert partition_hash(("t0", 1)) == 4636
    assert partition_hash(("in", 12)) == 4698
    assert java_hash("app-StreamThread-1-consumer-x") == 149853684


def test_processes_sort_as_two_signed_numbers() -> None:
    ascending = [
        UUID(text)
        for text in (
            "80000000-0000-0000-0000-000000000000",
            "ffffffff-0000-0000-0000-000000000000",
            "00000000-0000-0000-8000-000000000000",
            "00000000-0000-0000-0000-000000000001",
            "7fffffff-0000-0000-0000-000000000000",
        )
    ]
    assert sorted(reversed(ascending), key=process_key) == ascending


def test_tasks_sort_by_topology_first() -> None:
    texts = ["a__1_0", "a__0_5", "b__0_0", "a__0_12"]
    assert [str(task) for task in sorted_tasks(map(task_of, texts))] == ["a__0_5", "a__0_12", "a__1_0", "b__0_0"]


def test_hash_order_of_tasks() -> None:
    given_ = [TaskId(s, p) for s in range(2) for p in range(7)]
    walked = "1_0 0_6 0_5 1_6 0_4 1_5 0_3 1_4 0_2 1_3 0_1 1_2 0_0 1_1"
    assert " ".join(map(str, HashOrders((4, 3)).tasks(given_))) == walked


def test_a_heap_is_arranged_as_javas() -> None:
    heap = JavaHeap((number, None) for number in (5, 3, 8, 1, 9, 2, 7))
    assert [key for key, _ in heap] == [1, 3, 2, 5, 9, 8, 7]
    heap.remove(3)
    assert [key for key, _ in heap] == [1, 5, 2, 7, 9, 8]
    assert heap.poll() == (1, None)
    assert [key for key, _ in heap] == [2, 5, 8, 7, 9]
    heap.add(4, None)
    assert [key for key, _ in heap] == [2, 5, 4, 7, 9, 8]


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_a_heap_gives_its_keys_in_order_and_loses_none(first: list[int], added: list[int]) -> None:
    heap = JavaHeap((key, None) for key in first)
    for key in added:
        heap.add(key, None)
    removed = next(iter(first), None)
    if removed is not None:
        heap.remove(removed)
    given_ = []
    while (entry := heap.poll()) is not None:
        given_.append(entry[0])
    assert given_ == sorted(given_)
    assert Counter(given_) + Counter([] if removed is None else [removed]) == Counter(first + added)


def test_a_heap_refuses_to_remove_what_it_lacks() -> None:
    with pytest.raises(ValueError, match="no entry with key 3"):
        JavaHeap([(1, None)]).remove(3)


@given(st.data(), st.lists(st.uuids(), unique=True, max_size=30), st.booleans())
def test_places_of_processes_come_in_the_order_of_the_processes(
    data: st.DataObject, ids: list[UUID], crowded: bool
) -> None:
    """Also when the same places are asked for again, and of another list."""
    if crowded:  # in one bucket, so that the order rests on a tree
        ids = [UUID(int=number << 32 | number << 16) for number in range(len(ids))]
    orders, again = HashOrders((4, 3)), HashOrders((4, 3))
    for listed in (ids, ids, ids[::-1]):
        places = data.draw(st.permutations(range(len(listed))))
        for _ in range(2):
            orders.unsure = again.unsure = False
            assert [listed[at] for at in orders.clients(places, listed)] == again.processes(listed[at] for at in places)
            assert orders.unsure == again.unsure
