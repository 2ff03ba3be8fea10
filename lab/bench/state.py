"""`python -m lab.bench.state`: what one Connect group leaves in the database between batches, and what that costs.

A cluster is played by our own assignor, a new worker joins at the end, and every worker reports each of its jobs as
RUNNING. Then the state is measured: its size, which parts it consists of, and the processor time of reading and writing
it, which every batch with a record of the group pays.
"""

import json
import zlib
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from lab.bench.assigning.assignors import SIZES, ours
from lab.bench.assigning.rounds import MAX_DELAY_MS, story
from lab.bench.assigning.timing import median_ms
from lab.errors import LabError
from rebalance_monitor.schemas.connect_protocol import decode_assignment, decode_worker_state
from rebalance_monitor.schemas.connect_topics import (
    ConfigRecord,
    ConnectorConfigured,
    StatusRecord,
    TasksCommitted,
    TaskStaged,
)
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.core.connect.observed import worker_of
from rebalance_monitor.streaming.core.connect.state import ConnectState
from rebalance_monitor.streaming.core.connect.topics import ConfigChange, StatusChange
from rebalance_monitor.streaming.core.fold.state import Envelope, Saved, read, stored
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.records import Body, GroupGeneration, MemberRow, Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings

GROUP, CONFIGS, STATUSES = "connect-orders", "orders-configs", "orders-status"
T0_MS = 1_700_000_000_000
QUIET_MS = 3_600_000


def settings() -> ClusterSettings:
    connect = ConnectSettings(config_topic=CONFIGS, status_topic=STATUSES, max_delay_ms=MAX_DELAY_MS, release="4.3.1")
    return ClusterSettings(name="bench", connect={GROUP: connect})


def rows(workers: int, tasks: int, event: str) -> Iterator[Row]:
    """The config topic, the group's records, and a RUNNING for every job after each of them."""
    played = story(workers, tasks, event)
    connectors: Mapping[str, int] = played[0]["config"]["connectors"]
    configs: list[ConfigRecord] = []
    for name, count in connectors.items():
        configs += [
            ConnectorConfigured(name),
            *(TaskStaged(name, n) for n in range(count)),
            TasksCommitted(name, count),
        ]
    for offset, record in enumerate(configs):
        yield _row(CONFIGS, offset, 0, ConfigChange(record))
    offset = 0
    for number, (round_, answers) in enumerate(zip(played, ours(played)[0], strict=True)):
        yield _row("__consumer_offsets", number, round_["now_ms"], _generation(round_, answers), group=GROUP)
        for member_id, assignment in answers.items():
            read = decode_assignment(assignment)
            assert isinstance(read, Decoded)
            for connector, task in [*((name, None) for name in read.value.connectors), *read.value.tasks]:
                status = StatusRecord(
                    connector=connector,
                    task=task,
                    state="RUNNING",
                    worker_id=worker_of(f"http://{member_id}/"),
                    generation=round_["generation"],
                )
                yield _row(STATUSES, offset, round_["now_ms"] + 100, StatusChange(status))
                offset += 1


def _generation(round_: Mapping[str, Any], answers: Mapping[str, bytes]) -> GroupGeneration:
    members = []
    for member in round_["members"]:
        subscription, assignment = b64decode(member["subscription"]), answers[member["id"]]
        state, given = decode_worker_state(subscription), decode_assignment(assignment)
        assert isinstance(state, Decoded)
        assert isinstance(given, Decoded)
        members.append(
            MemberRow(
                member_id=member["id"],
                instance_id=None,
                client_id="connect",
                client_host="/10.0.0.1",
                rebalance_timeout_ms=60_000,
                session_timeout_ms=10_000,
                subscription=state.value,
                assignment=given.value,
                subscription_bytes=subscription,
                assignment_bytes=assignment,
            )
        )
    return GroupGeneration(
        protocol_type="connect",
        generation=round_["generation"],
        protocol=round_["protocol"],
        leader=round_["leader"],
        state_ms=T0_MS + round_["now_ms"],
        members=tuple(members),
    )


def _row(topic: str, offset: int, at_ms: int, body: Body, *, group: str | None = None) -> Row:
    return Row(topic=topic, partition=0, offset=offset, timestamp_ms=T0_MS + at_ms, group=group, body=body)


def folded(workers: int, tasks: int, event: str) -> Saved:
    """The state an hour after the last record; all generations must be judged, or it would be another one."""
    given = list(rows(workers, tasks, event))
    outcome = fold_group(settings(), GROUP, None, given, Tick(given[-1].timestamp_ms + QUIET_MS))
    grades = {one.verdict.grade for one in outcome.results if isinstance(one, Generation)}
    if grades != {Grade.MATCH}:
        raise LabError(f"the played cluster is judged {', '.join(sorted(grades))} instead of match")
    return fold_group(settings(), GROUP, outcome.state, [], Tick(given[-1].timestamp_ms + 2 * QUIET_MS)).state


def parts(state: Saved) -> dict[str, int]:
    """Bytes of the envelope, of each field of the body and of its timeline; below one hundredth is left out."""
    first, body = state.lines.split(b"\n")
    whole: dict[str, Any] = json.loads(body.split(b" ", 1)[1])
    timeline = {f"timeline.{name}": part for name, part in whole.pop("timeline").items()}
    fields = {"envelope": json.loads(first), **whole, **timeline}
    sizes = {name: len(json.dumps(part, separators=(",", ":"))) for name, part in fields.items()}
    return {
        name: size for name, size in sorted(sizes.items(), key=lambda one: -one[1]) if size * 100 > len(state.lines)
    }


def read_whole(state: Saved) -> tuple[Envelope, ConnectState]:
    """Both parts of the state."""
    envelope, bodies = read(state)
    return envelope, loads(ConnectState, bodies["connect"])


def written(envelope: Envelope, body: ConnectState) -> Saved:
    """The state as the fold writes it."""
    return stored(envelope, {"connect": dumps(body)})


def main() -> int:
    """Print size, parts and times."""
    for workers, tasks in SIZES:
        for event in ("steady", "a worker lost"):
            state = folded(workers, tasks, event)
            value = read_whole(state)
            packed = zlib.compress(state.lines, 1)
            print(
                f"{workers} x {tasks:,}, {event}: {len(state.lines):,} bytes ({len(packed):,} compressed), "
                f"read in {median_ms(partial(read_whole, state)):.1f} ms, "
                f"written in {median_ms(partial(written, *value)):.1f} ms"
            )
            print("   ", ", ".join(f"{name} {size:,}" for name, size in parts(state).items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
