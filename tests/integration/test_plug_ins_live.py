"""Plug-ins that lie outside the package judge applications through a real job, in Spark's tasks.

The records are those of a captured application, written once for each plug-in under another group id.
"""

import json
import re
import struct
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.config.plug_ins import PlugInSection
from rebalance_monitor.streaming.core.replay import replay
from rebalance_monitor.streaming.plug_ins.channel import KEEPER
from rebalance_monitor.streaming.plug_ins.folding import fold_with
from rebalance_monitor.streaming.plug_ins.host import PlugInHost
from tests.integration.watched import Watched
from tests.streaming.plug_ins.outside import OUTSIDE
from tests.streaming.plug_ins.test_plug_ins_judge_a_capture import (
    APPLICATION,
    CAPTURE,
    GENERATIONS,
    generations,
    placement,
    settings,
)
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.integration
KEY = struct.Struct(">hh")
GROUP_RECORD = 2
PARTITIONS = 3


def key_of(group: str) -> bytes:
    return KEY.pack(GROUP_RECORD, len(group)) + group.encode()


def write(watched: Watched, topic: str, groups: list[str]) -> None:
    """The application's generations, once for each of these groups."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    client = {"bootstrap.servers": watched.broker.address, "log_level": 0}
    admin = AdminClient(client)  # it must live until the answer comes
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(PATIENCE_S)
    # A partition without a leader yet makes a producer try again; only an idempotent one keeps the records' order then.
    producer = Producer({**client, "enable.idempotence": True})
    for record in records_of(CAPTURE):
        if record.key == key_of(APPLICATION):
            for number, group in enumerate(groups):
                producer.produce(topic, record.value, key_of(group), number % PARTITIONS, timestamp=record.timestamp_ms)
    assert producer.flush(PATIENCE_S) == 0


def applications() -> dict[str, dict[str, Any]]:
    """A plug-in for each application."""
    known = settings_of(CAPTURE).streams[APPLICATION]
    last = generations(replay(records_of(CAPTURE), settings_of(CAPTURE)))[-1]
    of_folder = {name: [str(OUTSIDE / name)] for name in ("installed", "judging", "misbehaving")}
    plug_ins: dict[str, dict[str, Any]] = {
        "static": {
            "name": "static",
            "path": of_folder["installed"],
            "configs": {"placement": json.dumps(placement(last))},
        },
        "identity": {"name": "keeps:Identity", "path": of_folder["judging"]},
        **{
            error: {"name": "wrong:Wrong", "path": of_folder["judging"], "configs": {"error": error}}
            for error in ("UNKNOWN_TASK_ID", "ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES", "MISSING_PROCESS_ID")
        },
        **{
            name: {"name": f"misbehaving:{name}", "path": of_folder["misbehaving"]}
            for name in ("Raises", "Exits", "EatsMemory", "ReturnsNothing")
        },
        # Only what never answers has a short budget: a busy machine must not make the others late as well.
        "Loops": {"name": "misbehaving:Loops", "path": of_folder["misbehaving"], "budget_ms": 1_000},
    }
    return {
        group: {
            "release": known.release,
            "standbys": known.standbys,
            "warm_ups": known.warm_ups,
            "acceptable_lag": known.acceptable_lag,
            "topology": known.topology,
            "plug_in": {"budget_ms": 20_000, "memory_mib": 256, **plug_in},
        }
        for group, plug_in in plug_ins.items()
    }


def published(watched: Watched, topic: str) -> dict[str, list[tuple[int, str, str]]]:
    """Number, grade and reason of each generation with members, by group."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    with psycopg.connect(watched.postgres.dsn) as database:
        rows = database.execute(
            """select "group", generation, grade, coalesce(reason, '') from rebalance_monitor.generations
            where topic = %s and member_count > 0 order by "offset"
            """,
            (topic,),
        )
        for group, number, grade, reason in rows:
            found.setdefault(str(group), []).append((int(number), str(grade), str(reason)))
    return found


def plug_in_processes(job: int) -> dict[int, int]:
    """Processes of plug-ins that descend from this one, each with the time of its start."""
    parents, started, of_plug_ins = dict[int, int](), dict[int, int](), set[int]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        number = int(folder.name)
        parents[number], started[number] = int(words[1]), int(words[19])
        if KEEPER.encode() in command:
            of_plug_ins.add(number)

    def descends(number: int) -> bool:
        while number in parents:
            number = parents[number]
            if number == job:
                return True
        return False

    return {number: started[number] for number in of_plug_ins if descends(number)}


def runs(number: int, started: int) -> bool:
    """Whether this process, and no later one of its number, still runs."""
    try:
        words = (Path("/proc") / str(number) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return int(words[19]) == started and words[0] != "Z"


def test_plug_ins_judge_and_those_that_misbehave_cost_nothing_else(watched: Watched) -> None:
    topic, configured = "offsets", applications()
    write(watched, topic, list(configured))
    job_name = "plugged"
    cluster = {"name": "own", "bootstrap_servers": watched.broker.address, "streams": configured}
    sections = {
        "clusters": [cluster],
        "source": {"offsets_topic": topic, "heartbeat_ms": 2_000},
        "spark": {
            "driver_memory": "700m",
            "checkpoint_dir": str(watched.lab.folder / "spark"),
        },
    }
    with watched.job(job_name, **sections) as job:
        watched.wait_ready(job)
        # A batch folds all records that wait for it, so every generation is there once the job is ready.
        found = published(watched, topic)
        processes = plug_in_processes(job.process.pid)
    assert processes
    until(lambda: not any(runs(*one) for one in processes.items()), 20)
    assert {group: len(rows) for group, rows in found.items()} == dict.fromkeys(configured, GENERATIONS)
    for group, rows in found.items():
        assert grades_and_reasons(rows) == grades_and_reasons(expected(group, configured)), group
    with psycopg.connect(watched.postgres.dsn) as database:
        incidents = Counter(
            str(group)
            for (group,) in database.execute(
                'select "group" from rebalance_monitor.incidents where code = %s', ("STREAMS-S32",)
            )
        )
    assert set(configured) - incidents.keys() == {"identity"}


def grades_and_reasons(rows: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    """Without what only says that the plug-in is not called for a while: that depends on the time."""
    return [(number, grade, _last(reason)) for number, grade, reason in rows]


def _last(reason: str) -> str:
    """What happened at the last call: "NAME: it ended", or "NAME is paused; the last: it ended"."""
    last = re.sub(r"^task assignor \S+: ", "", reason.rpartition("the last: ")[2])
    return last.rpartition(": it ")[2].removeprefix("it ")


def expected(group: str, configured: dict[str, dict[str, Any]]) -> list[tuple[int, str, str]]:
    """What `replay` says of the same records under the same name, which the topology needs, with the same plug-in."""
    own = PlugInSection.model_validate(configured[group]["plug_in"]).core()
    known = settings(own)
    known = replace(known, streams={group: known.streams[APPLICATION]})
    records = [
        replace(record, key=key_of(group)) for record in records_of(CAPTURE) if record.key == key_of(APPLICATION)
    ]
    host = PlugInHost()
    try:
        told = replay(records, known, fold=fold_with(host))
    finally:
        host.close()
    return [(one["generation"], one["verdict"]["grade"], one["verdict"]["reason"] or "") for one in generations(told)]
