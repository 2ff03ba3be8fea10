"""Names become keyed digests wherever they stand, and words of the format stay."""

from rebalance_monitor.streaming.core.reading.pseudonyms import format_words, names_in, renamed, renaming

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
