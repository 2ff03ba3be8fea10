"""A demo that was left running (`KEEP=1`): remember what runs, and stop it later (`make stop`)."""

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from lab.cluster.postgres import stop_server
from lab.demo.stage import SIMULATED, Stage
from lab.paths import ROOT
from lab.process import Lab
from lab.sessions import end_session, members

RECORD = ROOT / ".demo" / "running.json"


def write(lab: Lab, stage: Stage) -> None:
    """Remember the sessions and the database, and print the addresses."""
    sessions = [child.pid for child in lab.children if child.running()]
    RECORD.write_text(json.dumps({"sessions": sessions, "postgres": str(stage.postgres.data)}))
    print("left running; `make stop` ends it:")
    addresses = stage.addresses
    workers = ", ".join(worker.url for worker in stage.workers if worker.child.running())
    for name, value in (
        ("Kafka", addresses.bootstrap),
        ("Connect", workers),
        ("PostgreSQL", addresses.dsn),
        ("page", stage.page_url),
        ("metrics", addresses.metrics),
        ("alert receiver", addresses.receiver),
        ("configuration", str(lab.folder / "monitor.yaml")),
        ("logs", str(lab.folder / "logs")),
    ):
        print(f"  {name:15} {value}")
    print(
        f"the workers of {SIMULATED} were part of the demo and are gone: the page soon shows all_workers_gone, which "
        "is true"
    )


def stop() -> int:
    """End what an earlier demo left running; 0, or 2 when nobody can tell what that is."""
    if not RECORD.exists():
        print("nothing was left running")
        return 0
    try:
        record = json.loads(RECORD.read_text())
        sessions, data = [int(one) for one in record["sessions"]], Path(record["postgres"])
    except (ValueError, KeyError, TypeError):
        print(f"stop: {RECORD} can't be read; end the demo's processes by hand, then remove it", file=sys.stderr)
        return 2
    for session in reversed(sessions):
        # A session number may belong to somebody else by now: only those whose folder is the demo's are ended.
        if any(_ours(pid) for pid in members(session)):
            for pid in members(session):
                with suppress(OSError):
                    os.kill(pid, signal.SIGTERM)
            end_session(session)
    stop_server(data)
    RECORD.unlink()
    print("stopped")
    return 0


def _ours(pid: int) -> bool:
    with suppress(OSError):
        return str(ROOT).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    return not Path("/proc").is_dir()


if __name__ == "__main__":
    sys.exit(stop())
