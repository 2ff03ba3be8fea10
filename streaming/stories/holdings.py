"""What members hold, by the documents of generations: names as people write them."""

from typing import Any

from rebalance_monitor.streaming.core.connect.member_bytes import connect_share_of, held_after

Object = dict[str, Any]
CONNECTOR = " (connector)"


def share_names(share: Object | None) -> list[str]:
    """The jobs of a share as people name them."""
    if share is None:
        return []
    names = list(share.get("connectors", ()))
    names += [f"{name}-{number}" for name, number in (*share.get("tasks", ()), *share.get("partitions", ()))]
    for kind in ("active", "standby", "warmup"):
        names += [name if kind == "active" else f"{name} ({kind})" for name in share.get(kind, ())]
    return names


def held(member: Object) -> set[str]:
    """What a member has once it has obeyed its assignment; a connector is told apart from a task of the same name."""
    share = connect_share_of(member["assigned"])
    if share is None:
        return set(share_names(member["assigned"]))
    after = held_after(share, connect_share_of(member.get("revoked")), connect_share_of(member.get("owned")))
    return {name + CONNECTOR for name in after.connectors} | {f"{name}-{number}" for name, number in after.tasks}


def by_number(name: str) -> tuple[str, int, str]:
    """The key of names as people sort them: by name, then by number, so task 10 comes after task 9."""
    stem, _, number = name.rpartition("-")
    if stem and number.isdecimal() and len(number) < 10:
        return stem, int(number), name
    return name.removesuffix(CONNECTOR), -1, name


def jobs_text(count: int) -> str:
    """`1 connector or task`, `2 connectors and tasks`."""
    return "1 connector or task" if count == 1 else f"{count} connectors and tasks"
