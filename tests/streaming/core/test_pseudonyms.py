"""Names become keyed digests wherever they stand, and words of the format stay."""

from rebalance_monitor.streaming.core.reading.pseudonyms import format_words, names_in, numbered_in, renamed, renaming

OBJECT = {
    "kind": "generation",
    "group": "orders",
    "protocol_type": "connect",
    "members": [
        {"member_id": "orders-app-1-4a9d", "client_host": "/10.0.3.4", "worker": "https://kafka-7.acme.org:8083"}
    ],
    "diff": {"kafka-7.acme.org:8083": {"gained": ["invoices-3"], "lost": []}},
    "verdict": {"grade": "match", "reason": "invoices-3 of orders went to kafka-7.acme.org, reorders did not"},
}


def test_it_is_renamed_throughout() -> None:
    words = format_words()
    names = set(names_in(OBJECT, words))
    assert names >= {"orders", "orders-app-1-4a9d", "10.0.3.4", "kafka-7.acme.org:8083", "kafka-7.acme.org", "invoices"}
    told = renamed(OBJECT, words, renaming(names, b"key"))
    text = str(told)
    assert not any(name in text for name in ("orders-", "10.0.3.4", "acme", "invoices"))
    assert (told["kind"], told["protocol_type"], told["verdict"]["grade"]) == ("generation", "connect", "match")
    assert told["group"] in told["verdict"]["reason"]
    assert "reorders did not" in told["verdict"]["reason"]


def test_the_key_decides() -> None:
    one, other = renaming(["orders"], b"1"), renaming(["orders"], b"2")
    assert one("orders") == one("orders") != other("orders")


def told_of(value: object) -> str:
    words = format_words()
    return str(renamed(value, words, renaming(names_in(value, words), b"key")))


def test_a_class_of_ones_own_is_a_name_where_kafkas_words_are() -> None:
    told = told_of(
        {
            "protocol_type": "acme",
            "protocol": "com.acme.OrdersAssignor",
            "verdict": {"assignor": "sticky", "reason": "assignor com.acme.OrdersAssignor is not recomputed"},
        }
    )
    assert "acme" not in told
    assert "Orders" not in told
    assert "'assignor': 'sticky'" in told


def test_a_group_that_is_called_like_a_task_or_a_number_is_a_name() -> None:
    told = told_of(
        {
            "group": "1_2",
            "members": [{"client_id": "20", "worker": None}],
            "streams": {"subtopologies": [{"name": "1"}], "withheld": ["0_1", "1_2"]},
            "gained": ["20-3"],
            "message": "group 1_2 came to generation 20 of 2026-11-20; 1 task waits: 1_2",
        }
    )
    assert "1_2" not in told
    assert "'20" not in told
    assert "to generation 20 of 2026-11-20; 1 task waits: n" in told
    assert "'name': '1'" in told
    assert "'0_1'" in told


def test_a_name_without_a_letter_is_replaced() -> None:
    assert "🚀" not in told_of({"group": "🚀🚀", "message": "🚀🚀 has no members", "topic": "🚀orders"})


def test_numbers_of_partitions_stay_so_that_gains_are_those_of_the_assignments() -> None:
    value = {
        "members": [{"member_id": "orders-app-1", "assigned": {"partitions": [["orders", 0], ["orders-7", 3]]}}],
        "diff": {"orders-app-1": {"gained": ["orders-0", "orders-7-3"]}},
        "message": "orders-0 went to orders-app-1, which is no partition 1 of orders-app",
    }
    words = format_words()
    told = renamed(value, words, renaming(names_in(value, words), b"key", numbered_in(value)))
    (member,) = told["members"]
    assert told["diff"][member["member_id"]]["gained"] == [
        f"{name}-{n}" for name, n in member["assigned"]["partitions"]
    ]
    assert told["message"].startswith(f"{member['assigned']['partitions'][0][0]}-0 went to {member['member_id']},")
    assert "orders" not in str(told)


def test_a_word_of_the_format_has_no_parts() -> None:
    """A topic that is called so stays; what only looks like its partition is a name."""
    value = {"assigned": {"partitions": [["member", 0]]}, "client_id": "member-0"}
    words = format_words()
    told = renamed(value, words, renaming(names_in(value, words), b"key", numbered_in(value)))
    assert told["client_id"].startswith("n")


def test_connectors_that_costs_are_told_by_are_names() -> None:
    """Also one that is a number, and each by the digest that it has in the assignment."""
    value = {
        "assigned": {"connectors": ["orders"], "tasks": [["orders", 7]]},
        "by_connector": {"orders": {"moved": 2}, "77": {"idle_ms": 5}},
        "downtime": [{"kind": "clean", "by_connector": {"orders": 3, "77": 0}}],
    }
    words = format_words()
    told = renamed(value, words, renaming(names_in(value, words), b"key", numbered_in(value)))
    orders = told["assigned"]["connectors"][0]
    number = renaming({"77"}, b"key")("77")
    assert told["by_connector"] == {orders: {"moved": 2}, number: {"idle_ms": 5}}
    assert told["downtime"] == [{"kind": "clean", "by_connector": {orders: 3, number: 0}}]
    assert "orders" not in str(told)
    assert "77" not in (orders, number)
