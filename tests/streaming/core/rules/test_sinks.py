"""A sink's own consumer group shows a task that runs twice, and only that."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.connect.rules.sinks import consumed_twice
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from rebalance_monitor.streaming.core.model.results import Evidence

HERE = Evidence(text="here")


def member(number: int, client_id: str) -> MemberRow:
    return MemberRow(
        member_id=f"m{number}",
        instance_id=None,
        client_id=client_id,
        client_host=f"/10.0.0.{number}",
        rebalance_timeout_ms=60_000,
        session_timeout_ms=45_000,
        subscription=None,
        assignment=None,
        subscription_bytes=b"",
        assignment_bytes=b"",
    )


def generation(*client_ids: str) -> GroupGeneration:
    members = tuple(member(number, client_id) for number, client_id in enumerate(client_ids, 1))
    return GroupGeneration(
        protocol_type="consumer", generation=3, protocol="range", leader="m1", state_ms=0, members=members
    )


def test_two_members_with_one_tasks_client_id() -> None:
    body = generation("connector-consumer-out-1-0", "connector-consumer-out-1-1", "connector-consumer-out-1-0")
    (found,) = consumed_twice("connect-out-1", body, HERE)
    assert [(one.type, one.id) for one in found.subjects] == [("task", "out-1-0"), ("group", "connect-out-1")]
    assert found.message == (
        "task out-1-0 runs twice, on 10.0.0.1 and 10.0.0.3: 2 consumers of connect-out-1 carry its client id"
    )
    assert found.next_step.startswith("See on the page of the Connect group which worker holds task out-1-0")


def test_two_members_on_one_host() -> None:
    body = generation(*["connector-consumer-out-0"] * 3)
    one_host = replace(body, members=tuple(replace(one, client_host="/10.0.0.1") for one in body.members))
    (found,) = consumed_twice("connect-out", one_host, HERE)
    assert found.message == "task out-0 runs more than once on 10.0.0.1: 3 consumers of connect-out carry its client id"


def test_a_static_member_that_has_not_come_back_yet_is_no_second_run() -> None:
    body = generation("connector-consumer-out-0", "connector-consumer-out-0")
    first, second = body.members
    assert list(consumed_twice("connect-out", body, HERE))
    left = replace(body, members=(replace(first, instance_id="old"), second))
    assert not list(consumed_twice("connect-out", left, HERE))


@pytest.mark.parametrize(
    ("group", "client_ids"),
    [
        ("connect-out", ("connector-consumer-out-0", "connector-consumer-out-1")),  # each task once
        ("connect-out", ("shared", "shared")),  # client.id is overridden
        ("readers", ("connector-consumer-out-0", "connector-consumer-out-0")),  # another application's group
        ("connect-out", ("connector-consumer-out-x", "connector-consumer-out-x")),  # no task number
    ],
)
def test_what_only_looks_like_it(group: str, client_ids: tuple[str, ...]) -> None:
    assert list(consumed_twice(group, generation(*client_ids), HERE)) == []
