"""How members are called in answers: long ids are shortened as far as they stay apart."""

from rebalance_monitor.streaming.stories.known import names_of
from rebalance_monitor.streaming.stories.short_names import short_tail

ONE, OTHER = "orders-0b9f54a2-1111-4222-8333-444455556666", "orders-6ac1d6f0-1111-4222-8333-444455556666"


def called(*ids: str) -> list[str]:
    members = [
        {"member_id": one, "worker": None, "instance_id": None, "client_id": "orders", "client_host": "/10.0.0.1"}
        for one in ids
    ]
    return list(names_of({"members": members}).values())


def test_members_of_one_client_and_host_have_short_ids() -> None:
    assert called(ONE, OTHER) == ["orders-0b9f54", "orders-6ac1d6"]


def test_ids_that_would_be_alike_stay_whole() -> None:
    alike = ONE[:-1] + "7"
    assert called(ONE, alike) == [ONE, alike]


def test_a_member_that_is_alone_has_the_name_of_its_client() -> None:
    assert called(ONE) == ["orders on 10.0.0.1"]


def test_the_id_of_a_member_that_is_gone_keeps_what_a_log_can_be_searched_for() -> None:
    assert short_tail(ONE) == "orders-0b9f54"
    assert short_tail("connect-1:8083") == "connect-1:8083"
