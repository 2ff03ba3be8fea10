"""Generations of many groups, of which some rebalance at once because of something they share."""

from collections.abc import Mapping
from dataclasses import replace

from rebalance_monitor.streaming.core.model.results import Generation, MemberResult, Source
from tests.streaming import builders

BEFORE_MS, THEN_MS = 1_000_000, 5_000_000
SHARED_HOST = "10.0.3.4"


def generation(
    group: str, number: int, at_ms: int, hosts: Mapping[str, str], *, partition: int = 0, offset: int = 0
) -> Generation:
    """`hosts`: by client id."""
    members = tuple(
        replace(_member(), member_id=f"{client}-{host}", client_id=client, client_host=f"/{host}")
        for client, host in hosts.items()
    )
    return builders.generation(
        cluster="k", group=group, generation=number, at_ms=at_ms, state_ms=at_ms, members=members,
        protocol_type="consumer", source=Source(builders.TOPIC, partition, offset), detail=None,
    )  # fmt: skip


def _member() -> MemberResult:
    return replace(builders.member(), worker=None, assigned=None, owned=None)


def fleet(
    sharing: int, others: int, *, apart_ms: int = 300, partitions: int = 50, others_on_host: int = 0
) -> list[Generation]:
    """So many groups lose a member on one host, one after the other; the others stay as they are."""
    made = []
    for number in range(sharing + others):
        group, partition = f"group-{number:03}", number % partitions
        own = {f"{group}-1": f"10.1.0.{number}"}
        on_host = number < sharing or number < sharing + others_on_host
        hosts = own | ({f"{group}-2": SHARED_HOST} if on_host else {})
        place = {"partition": partition, "offset": 2 * number}
        made.append(generation(group, 1, BEFORE_MS + number, hosts, partition=partition, offset=place["offset"]))
        if number < sharing:
            at_ms = THEN_MS + number * apart_ms
            made.append(generation(group, 2, at_ms, own, partition=partition, offset=place["offset"] + 1))
    return made
