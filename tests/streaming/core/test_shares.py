"""What a worker holds after a round."""

from rebalance_monitor.streaming.core.connect.member_bytes import connect_share_of, held_after
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import ConnectShare, ConsumerShare

OWNED = ConnectShare(("a", "b"), (("a", 0), ("b", 0)))
REVOKED = ConnectShare(("a",), (("b", 0),))
ASSIGNED = ConnectShare(("c",), (("a", 0), ("c", 1)))


def test_it_keeps_what_was_not_revoked_and_has_each_job_once() -> None:
    assert held_after(ASSIGNED, REVOKED, OWNED) == ConnectShare(("b", "c"), (("a", 0), ("c", 1)))


def test_an_eager_round_sends_all() -> None:
    assert held_after(ASSIGNED, None, None) == ASSIGNED


def test_what_was_given_and_revoked_at_once_is_held() -> None:
    """The assignment is obeyed last, as a worker of KIP-415 does: it stops first, then starts."""
    assert held_after(REVOKED, REVOKED, OWNED) == ConnectShare(("b", "a"), (("a", 0), ("b", 0)))


def test_a_published_share_is_read_back() -> None:
    assert connect_share_of(as_object(ASSIGNED)) == ASSIGNED
    assert connect_share_of(as_object(ConsumerShare((("t", 0),)))) is None
    assert connect_share_of(None) is None
