"""`make readiness`: does the job say that it is ready while nothing is wrong, whatever the cluster writes?

A real broker, PostgreSQL and job; offset commits at each rate in turn. /readyz is asked twice a second, the outgoing
heartbeat counted, and the resources of each of the job's processes followed over its batches. At the end one line per
rate, each time without being ready, and the machine's load: on a machine that others use as well, a time without being
ready at a load far above the number of cores says little of the job.

    make readiness                                          a minute at each rate
    make readiness ARGS="--seconds 600"                     ten minutes at each rate
    make readiness ARGS="--rates 150 --rebalances 6 --seconds 4200"     a soak of 20,000 batches
"""

import argparse
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx

from lab.asking import local
from lab.bench.job import load_process
from lab.bench.stage import BenchStage
from lab.cluster import class_data, jars, java
from lab.cluster.commit_load import Commits
from lab.errors import LabError
from lab.paths import BUILD
from lab.process import Lab, Progress, signals_stop
from lab.resources import Use, heap_after_collections, look

FOLDER = BUILD / "readiness"
RATES = (0.0, 20.0, 100.0, 500.0, 2_000.0, 20_000.0)
ASK_EVERY_S = 0.5
LOOK_EVERY_S = 10.0
BEAT_MS = 1_000
ALERT_AFTER_S = 600.0
BATCHES = "rebalance_monitor_batches_total"
COLLECT_EVERY = "4min"
"""How often Spark has all garbage collected, 30 minutes by itself: each time shows what Java really holds."""


@dataclass(slots=True)
class Spell:
    """A time in a row without being ready: when it began, what was said first, and the machine's load then."""

    at_s: float
    why: str
    load: float
    long_s: float = ASK_EVERY_S


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What one rate gave. `loads`: load averages of the last minute, one per look."""

    per_s: float
    written: int = 0
    polls: int = 0
    ready: int = 0
    sent: int = 0
    withheld: int = 0
    spells: list[Spell] = field(default_factory=list)
    loads: list[float] = field(default_factory=list)
    uses: dict[int, Use] = field(default_factory=dict)

    @property
    def longest_s(self) -> float:
        """The longest time in a row without being ready."""
        return max((one.long_s for one in self.spells), default=0.0)

    def line(self) -> str:
        alert = "would fire" if self.longest_s > ALERT_AFTER_S else "silent"
        mean, highest = (sum(self.loads) / len(self.loads), max(self.loads)) if self.loads else (0.0, 0.0)
        return (
            f"{self.per_s:>9.0f} {self.written:>10} {self.ready:>6}/{self.polls:<6} {self.longest_s:>9.1f} "
            f"{self.sent:>6} {self.withheld:>8}  {alert:<10} {mean:>5.1f} {highest:>7.1f}"
        )


HEAD = "commits/s    written  ready/polls  not ready heartbeats      NotReady    load\n" + (
    "                                    longest s   sent withheld              mean highest"
)


def observe(
    monitor_url: str, bootstrap: str, per_s: float, seconds: float, pid: int, alive: Callable[[], bool]
) -> Outcome:
    """Write at this rate for so long and ask the monitor how it is."""
    outcome = Outcome(per_s=per_s)
    sent, withheld = beats(monitor_url)
    looked_s = -LOOK_EVERY_S
    was_ready = True
    with Commits(bootstrap, per_s) as commits:
        began_s = time.monotonic()
        while (at_s := time.monotonic() - began_s) < seconds and alive():
            status, why = readyz(monitor_url)
            outcome.polls += 1
            outcome.ready += status == 200
            if status != 200:
                if was_ready:
                    outcome.spells.append(Spell(at_s, why, os.getloadavg()[0]))
                spell = outcome.spells[-1]
                spell.long_s = at_s - spell.at_s + ASK_EVERY_S
            was_ready = status == 200
            if at_s - looked_s >= LOOK_EVERY_S:
                looked_s = at_s
                outcome.loads.append(os.getloadavg()[0])
                look(pid, batches(monitor_url), outcome.uses)
            time.sleep(ASK_EVERY_S)
        outcome.written = commits.done
    after = beats(monitor_url)
    outcome.sent, outcome.withheld = after[0] - sent, after[1] - withheld
    return outcome


def readyz(url: str) -> tuple[int, str]:
    """Status and what is missing."""
    try:
        answer = local().get(f"{url}/readyz", timeout=5)
        return answer.status_code, "; ".join(answer.json().get("clusters", {}).values())
    except httpx.HTTPError as why:
        return 0, type(why).__name__


def beats(url: str) -> tuple[int, int]:
    """Heartbeats sent (accepted or not) and withheld so far."""
    text = local().get(f"{url}/metrics", timeout=5).text
    counts = {"sent": 0, "failed": 0, "withheld": 0}
    for line in text.splitlines():
        for outcome in counts:
            if line.startswith("rebalance_monitor_heartbeats_sent_total") and f'outcome="{outcome}"' in line:
                counts[outcome] += int(float(line.split()[-1]))
    return counts["sent"] + counts["failed"], counts["withheld"]


def batches(url: str) -> float:
    """That the job has committed so far."""
    text = local().get(f"{url}/metrics", timeout=5).text
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(BATCHES))


def main() -> int:
    """Run every rate and print the table; 0 when it was ready throughout."""
    parser = argparse.ArgumentParser(
        prog="make readiness", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rates", type=float, nargs="+", default=list(RATES), help="commits a second")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each")
    parser.add_argument("--rebalances", type=float, default=0.0, help="of other groups, each second (default: none)")
    given = parser.parse_args()
    progress = Progress()
    settings: dict[str, dict[str, Any]] = {
        "alerting": {
            "heartbeat_url": "http://127.0.0.1:9/nobody-listens",
            "heartbeat_every_ms": BEAT_MS,
        },
        "spark": {"conf": {"spark.cleaner.periodicGC.interval": COLLECT_EVERY}},
    }
    collections = FOLDER / "collections.log"
    os.environ[class_data.OPTIONS_OF_SPARK] = f"-Xlog:gc:file={collections}"
    shutil.rmtree(FOLDER, ignore_errors=True)
    try:
        with signals_stop(), Lab(FOLDER, progress) as lab, ExitStack() as stack:
            if jars.missing():
                jars.fetch(java.find())
            stage = BenchStage(lab, settings)
            with progress.step("starting everything"):
                stage.prepare()
                job = stage.start_job()
                url = stage.addresses.metrics.rpartition("/metrics")[0]
                lab.wait_for("ready", lambda: readyz(url)[0] == 200, job, 240)
            outcomes = []
            if given.rebalances:
                with progress.step("the groups that rebalance"):
                    load = stack.enter_context(load_process(stage))
                pacing = partial(load.tell, f"pace {given.rebalances} {given.seconds * len(given.rates)}")
                threading.Thread(target=pacing, name="rebalances", daemon=True).start()
            for per_s in given.rates:
                with progress.step(f"{per_s:.0f} commits a second for {given.seconds:.0f} s"):
                    outcomes.append(observe(url, stage.broker.address, per_s, given.seconds, job.pid, job.running))
                progress.say(outcomes[-1].line())
    except LabError as why:
        print(f"readiness: {why}", file=sys.stderr)
        return 2
    print(f"{HEAD}   ({os.cpu_count()} cores)")
    for outcome in outcomes:
        print(outcome.line())
    for outcome in outcomes:
        for spell in outcome.spells:
            at = f"not ready at {spell.at_s:.0f} s for {spell.long_s:.1f} s, load {spell.load:.1f}"
            print(f"{outcome.per_s:>9.0f} {at}: {spell.why}")
    print("each process, and by how much it grew in 1,000 batches of the second half, ± twice the standard error")
    for outcome in outcomes:
        for use in outcome.uses.values():
            if len(use.seen) > 2:
                print(f"{outcome.per_s:>9.0f} {use.seen[-1][0]:>7.0f} batches  {use.line()}")
    heap = " ".join(f"{mib:.0f}" for _, mib in heap_after_collections(collections))
    print(f"Java's heap after each collection of all garbage, MiB: {heap or 'none yet'}")
    return 0 if all(one.ready == one.polls for one in outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
