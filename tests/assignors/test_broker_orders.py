"""Java's hash tables and heap as the broker's assignors use them, against values from the JDK's own classes."""

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.assignors.broker.model import BrokerMember, member_orders
from rebalance_monitor.assignors.java_order import key_hash, uuid_hash, uuid_key
from rebalance_monitor.assignors.java_table import JavaTable, hash_order, table_size

TASKS = [(name, number) for name in ("0", "1") for number in range(7)]


def test_hash_of_an_id() -> None:
    assert uuid_hash(bytes.fromhex("00112233445566778899aabbccddeeff")) == 0
    assert uuid_hash(bytes.fromhex("80000000000000000000000000000001")) == -2147483647 & 0xFFFFFFFF


def test_ids_sort_as_two_signed_numbers() -> None:
    ascending = [
        "80000000000000000000000000000000",
        "ffffffffffffffffffffffffffffffff",
        "00000000000000008000000000000000",
        "00000000000000000000000000000001",
        "7fffffffffffffffffffffffffffffff",
    ]
    ids = [bytes.fromhex(one) for one in ascending]
    assert sorted(ids, key=uuid_key) == ids


def test_capacities_round_up_to_powers_of_two() -> None:
    assert [table_size(capacity) for capacity in (0, 1, 2, 3, 4, 5, 16, 17)] == [1, 1, 2, 4, 4, 8, 16, 32]


keys = st.one_of(
    st.integers(0, 200),
    st.tuples(st.sampled_from(["0", "1", "2", "10"]), st.integers(0, 60)),
    st.tuples(st.binary(min_size=16, max_size=16), st.integers(0, 20)),
)


@given(st.lists(keys, max_size=60))
def test_a_table_that_only_grows_walks_like_the_insertion_order_of_its_buckets(listed: list[object]) -> None:
    table: JavaTable[object] = JavaTable(hash_of=key_hash)
    table.add_all(listed)
    order = hash_order(listed)
    if not table.unsure:
        assert list(table) == order.keys()
    assert table.unsure == order.unsure


@given(st.lists(keys, max_size=30, unique=True), st.data())
def test_removing_keeps_the_order_of_the_rest(listed: list[object], data: st.DataObject) -> None:
    table: JavaTable[object] = JavaTable(hash_of=key_hash)
    table.add_all(listed)
    before = list(table)
    gone = set(data.draw(st.lists(st.sampled_from(listed)))) if listed else set()
    assert all(table.remove(key) for key in gone)
    assert not any(table.remove(key) for key in gone)
    assert list(table) == [key for key in before if key not in gone]
    assert len(table) == len(listed) - len(gone)


def test_computed_keys_go_to_the_head_and_the_table_grows_on_the_next_call() -> None:
    table: JavaTable[int] = JavaTable(key_hash, 2, computed=True)
    for number in (0, 2):
        table.add(number)
    assert list(table) == [2, 0]
    table.add(0)  # finds the table too full, though it adds nothing
    assert list(table) == [0, 2]


def test_only_members_of_one_bucket_change_places() -> None:
    members = [BrokerMember(id=name) for name in ("Aa", "BB", "c")]
    orders = [[member.id for member in order] for order in member_orders(members)]
    assert orders == [["Aa", "BB", "c"], ["BB", "Aa", "c"]]
