"""`make breaks`: six things go wrong one after the other, and what page, API, alerts and notifications say of each.

Everything is real: the demo's broker, Connect workers and job, Prometheus with the shipped rules, Alertmanager and a
program that is notified. Each break is looked at after half a minute and at its end; all sentences are printed, and
written to `.build/breaks/said.jsonl`, to be read by people: what is true of a break, nobody can state beforehand.
"""

import argparse
import json
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from html import unescape
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lab.asking import local
from lab.cluster import jars, postgres, workers
from lab.cluster.workers import Worker
from lab.demo.stage import CLUSTER, GROUP, MAX_DELAY_MS, PORTS_NEEDED, SIMULATED, Ports, Stage
from lab.errors import LabError
from lab.paths import BUILD
from lab.ports import HOST, free_ports
from lab.process import Lab, Progress
from lab.receivers.alerting import Prometheus, start_alertmanager, start_prometheus
from lab.receivers.hook_receiver import HookReceiver

FOLDER = BUILD / "breaks"
CONNECTORS = {"orders": 5, "invoices": 4}
READERS, TOPIC, PARTITIONS = "orders-readers", "orders", 4
LOOKED_AFTER_S, FROZEN_S, SETTLED_S = 30.0, 90.0, 30.0
_SEEN = ("group", "rule", "severity", "certainty", "alert", "message", "next_step")


class BreaksStage(Stage):
    """Alerts go the way of Prometheus, and a program is notified too; what is shipped decides when."""

    hook = ""

    def configuration(self) -> dict[str, Any]:
        given: dict[str, Any] = super().configuration()
        # A member that does not join again is stuck after ten seconds already, not after the five minutes it has.
        owner = {"match": READERS, "team": "orders", "rebalance_timeout_ms": 10_000}
        (cluster,) = given["clusters"]
        del cluster["connect"][SIMULATED]
        return {
            **given,
            "alerting": {"path": "prometheus", "webhooks": [{"name": "hook", "url": f"{self.hook}/hook"}]},
            "groups": [owner],
            "polling": {"progress_every_ms": 1_000, "progress_groups": [READERS]},
        }


class Breaks:
    """What goes wrong, in order. Each is given a function that looks, to be called half a minute after the break."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def all_workers_stopped(self, look: Callable[[], None]) -> None:
        for worker in self.stage.workers:
            worker.child.stop()
        look()
        self.stage.workers = [self._started(number) for number in range(len(self.stage.workers))]

    def one_worker_frozen(self, look: Callable[[], None]) -> None:
        frozen, began_s = self.stage.workers[-1].child.process, time.monotonic()
        frozen.send_signal(signal.SIGSTOP)
        look()
        time.sleep(max(0.0, began_s + FROZEN_S - time.monotonic()))
        frozen.send_signal(signal.SIGCONT)

    def a_connector_deleted(self, look: Callable[[], None]) -> None:
        self._delete("invoices")
        look()
        workers.create_sink(self.stage.workers[0], "invoices", CONNECTORS["invoices"], "nothing")

    def a_task_failed_and_others_came_and_went(self, look: Callable[[], None]) -> None:
        workers.create_sink(self.stage.workers[0], "failing", 2, "nothing", folder="no-such-folder/")
        for name in ("passing", "another"):
            workers.create_sink(self.stage.workers[0], name, 1, "nothing")
            time.sleep(3)
            self._delete(name)
        look()
        self._delete("failing")

    def one_member_stuck(self, look: Callable[[], None]) -> None:
        with ExitStack() as stack, readers(self.stage.broker.address, ("quick", "stuck")) as group:
            going = [group["quick"], stack.enter_context(closing(_reader(self.stage.broker.address, "newcomer")))]
            until_s = time.monotonic() + LOOKED_AFTER_S
            while time.monotonic() < until_s:
                for one in going:
                    one.poll(0.1)
            look()
            until_s = time.monotonic() + SETTLED_S
            while time.monotonic() < until_s:
                for one in (*going, group["stuck"]):
                    one.poll(0.1)

    def rolling_bounce(self, look: Callable[[], None]) -> None:
        for number in range(len(self.stage.workers)):
            self.stage.workers[number].child.stop()
            self.stage.workers[number] = self._started(number)
        look()

    def _started(self, number: int) -> Worker:
        (made,) = workers.start(
            self.stage.lab, self.stage.java, jars.fetch(self.stage.java), self.stage.broker, group=GROUP,
            ports=[self.stage.ports.workers[number]], max_delay_ms=MAX_DELAY_MS, first_number=number + 1,
        )  # fmt: skip
        return made

    def _delete(self, name: str) -> None:
        def deleted() -> bool:
            url = f"{self.stage.workers[0].url}/connectors/{name}"
            return local().delete(url, timeout=30).status_code in (204, 404)  # 409 while the group rebalances

        self.stage.lab.wait_for(f"{name} deleted", deleted)


def _reader(address: str, name: str) -> Consumer:
    made = Consumer(
        {
            "bootstrap.servers": address, "group.id": READERS, "client.id": name, "session.timeout.ms": 10_000,
            "max.poll.interval.ms": 300_000, "log_level": 0,
        }
    )  # fmt: skip
    made.subscribe([TOPIC], on_assign=lambda *_: None, on_revoke=lambda *_: None)
    return made


@contextmanager
def readers(address: str, names: tuple[str, ...]) -> Iterator[dict[str, Consumer]]:
    """Consumers of one group, each with its partitions."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    producer = Producer({"bootstrap.servers": address, "log_level": 0})
    for number in range(PARTITIONS):
        producer.produce(TOPIC, b"value", partition=number)
    producer.flush(30)
    made = {name: _reader(address, name) for name in names}
    try:
        while not all(one.assignment() for one in made.values()):
            for one in made.values():
                one.poll(0.1)
        yield made
    finally:
        for one in made.values():
            one.close()


class Heard:
    """What is said now, everywhere, of the groups of this cluster."""

    def __init__(self, stage: Stage, prometheus: Prometheus, receiver: HookReceiver) -> None:
        self._stage, self._prometheus, self._inbox = stage, prometheus, receiver.inbox
        self._heard = 0

    def now(self) -> dict[str, Any]:
        """Messages are those since the last look."""
        posted = list(self._inbox.honoured().values())
        new, self._heard = posted[self._heard :], len(posted)
        groups = self._api("groups")
        return {
            "groups": [{key: one[key] for key in ("group", "state")} for one in groups],
            "incidents": [_incident(one) for one in self._api("incidents")],
            "not_ok": [one for one in self._api("connectors_and_tasks") if one.get("agreement") != "ok"],
            "page": {one["group"]: self._page(one["group"]) for one in groups},
            "alerts": [_alert(one) for one in self._prometheus.firing()],
            "notified": [_message(one) for one in new],
        }

    def _api(self, what: str) -> list[dict[str, Any]]:
        answer = local().get(f"{self._stage.page_url}/api/v1/{what}", timeout=60)
        found: list[dict[str, Any]] = answer.raise_for_status().json()["items"]
        return found

    def _page(self, group: str) -> list[str]:
        answer = local().get(f"{self._stage.page_url}/group", params={"cluster": CLUSTER, "group": group}, timeout=60)
        body = re.sub(r"(?s)<(script|style|head)\b.*?</\1>", "", answer.raise_for_status().text)
        lines = unescape(re.sub(r"<(?!/?(b|i|em|strong|code|a|span|time|small)\b)[^>]*>", "\n", body)).splitlines()
        return [said for line in lines if (said := re.sub(r"<[^>]*>|\s+", " ", line).strip())]


def _incident(shown: Mapping[str, Any]) -> dict[str, Any]:
    told = {key: shown["violation"][key] for key in _SEEN}
    return {**told, **{key: shown[key] for key in ("attention", "why", "until_ms")}}


def _alert(alert: Mapping[str, Any]) -> dict[str, str]:
    labels = {key: alert["labels"][key] for key in ("alertname", "severity", "group") if key in alert["labels"]}
    return {**labels, **{key: alert["annotations"].get(key, "") for key in ("summary", "description", "next_step")}}


def _message(message: Mapping[str, Any]) -> dict[str, str]:
    incident = message["incident"]
    return {
        "transition": message["transition"], "rule": incident["rule"], "severity": incident["alert"],
        "message": incident["message"], "summary": message["summary"], "next_step": message["next_step"],
    }  # fmt: skip


def play(lab: Lab, chosen: Sequence[str]) -> None:
    """Those chosen, or all six, on a stage of their own."""
    say = lab.progress.say
    with ExitStack() as stack:
        receiver = stack.enter_context(HookReceiver())
        stage = BreaksStage(lab, Ports.of(free_ports(PORTS_NEEDED)))
        stage.hook = receiver.url
        stage.start()
        alertmanager = start_alertmanager(lab, "alertmanager", f"{receiver.url}/alertmanager")
        prometheus = start_prometheus(lab, "prometheus", f"{HOST}:{stage.ports.metrics}", alertmanager)
        for name, tasks in CONNECTORS.items():
            workers.create_sink(stage.workers[0], name, tasks, "nothing")
        time.sleep(SETTLED_S)
        heard, breaks = Heard(stage, prometheus, receiver), Breaks(stage)
        heard.now()
        for act in (
            breaks.all_workers_stopped, breaks.one_worker_frozen, breaks.a_connector_deleted,
            breaks.a_task_failed_and_others_came_and_went, breaks.one_member_stuck, breaks.rolling_bounce,
        ):  # fmt: skip
            name, began_s = act.__name__.replace("_", " "), time.monotonic()
            if chosen and name not in chosen:
                continue
            say(name)

            def look(name: str = name, began_s: float = began_s) -> None:
                time.sleep(max(0.0, began_s + LOOKED_AFTER_S - time.monotonic()))
                _keep(name, "after 30 s", heard.now())

            act(look)
            time.sleep(SETTLED_S)
            _keep(name, "at the end", heard.now())


def _keep(name: str, moment: str, said: Mapping[str, Any]) -> None:
    print(f"== {name}, {moment}", flush=True)
    for kind in ("groups", "incidents", "not_ok", "alerts", "notified"):
        for one in said[kind]:
            print(f"  {kind}: {json.dumps(one)}", flush=True)
    with (FOLDER / "said.jsonl").open("a") as file:
        file.write(json.dumps({"break": name, "moment": moment, **said}) + "\n")


def main() -> int:
    """0 when all were played; 2 when something outside is missing."""
    parser = argparse.ArgumentParser(prog="make breaks", description=__doc__)
    parser.add_argument("chosen", nargs="*", metavar="BREAK", help="only these, such as 'rolling bounce'")
    chosen = parser.parse_args().chosen
    postgres.stop_server(FOLDER / "postgres")
    shutil.rmtree(FOLDER, ignore_errors=True)
    try:
        with Lab(FOLDER, Progress()) as lab:
            play(lab, chosen)
    except LabError as error:
        print(f"breaks: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
