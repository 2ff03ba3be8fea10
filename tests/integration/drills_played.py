"""The five drills, played to one broker so that they all come to their answers while a job reads it."""

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_monitor.streaming.cli.captures import settings_of
from rebalance_monitor.streaming.cli.moments import clock_ms
from rebalance_monitor.streaming.polling.asking import KafkaTopics
from tests.integration import playing
from tests.integration.drilled import of_capture, of_story, plain
from tests.integration.playing import Copy, Player
from tests.streaming.core.rules.cases_epochs import does_not_revoke
from tests.streaming.core.rules.epochs import TOPIC, TOPIC_ID
from tests.streaming.stories import drills
from tests.waiting import PATIENCE_S, until

RESTORED, WRITTEN, WRITTEN_PER_S = "never-KSTREAM-AGGREGATE-STATE-STORE-0000000001-changelog", 2_000, 25
PARTITIONS = {"clicks": 40, TOPIC: 4, "never-in": 4, RESTORED: 4}


class DrillsPlayed:
    """Four come to their answers after `in_ms`, when most of them is history; the application begins with `probe`."""

    def __init__(self, bootstrap: str, in_ms: int) -> None:
        self._bootstrap = bootstrap
        self._producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
        ids = _created(bootstrap)
        due_ms = clock_ms() + in_ms
        early = [
            of_story("storm_after_a_deployment", "storm", 4, drills.restless_after_a_deployment()),
            of_capture("doubled_tasks_after_a_partition", "doubled", 5, drills.ZOMBIE, "zombies", drills.DOUBLED_AT),
            of_story("idle_tasks_after_a_pod_restart", "idle", 6, drills.restarted_pod()),
            of_story("stuck_behind_one_member", "stuck", 7, does_not_revoke()).reading(TOPIC_ID, ids[TOPIC]),
        ]
        self.drills = [one.at(due_ms, one.until_ms) for one in early]
        self._probing = of_capture(
            "streams_that_never_stop_probing", "never", 8, drills.PROBING, "never", drills.PROBED_AT
        )
        playing.prepare(bootstrap, [*self.drills, self._probing])
        self._players = [Player(bootstrap, self.drills, 1.0, clock_ms())]
        self._restores_from_ms, self._written = 0, 0

    def sections(self) -> dict[str, Any]:
        """What the monitor is told of them."""
        never = settings_of(drills.VECTORS / drills.PROBING).streams["never"]
        names = ("release", "assignor", "standbys", "warm_ups", "acceptable_lag", "topology")
        idle = {"config_topic": "idle-configs", "status_topic": "idle-status", "max_delay_ms": 300_000}
        return {
            "connect": {"doubled": Copy("zombie", "doubled", 0).section(), "idle": idle},
            "streams": {"never": {name: getattr(never, name) for name in names}},
        }

    def probe(self) -> None:
        """The application begins, and whoever writes to its changelog."""
        self._restores_from_ms = clock_ms()
        probing = self._probing.at(self._restores_from_ms, self._probing.first_ms)
        self.drills.append(probing)
        self._players.append(Player(self._bootstrap, [probing], 1.0, self._restores_from_ms))

    def play(self) -> bool:
        """Writes what is due by now; whether that was the rest."""
        played = [one.play() for one in self._players]
        if self._restores_from_ms:
            self._restore()
        return all(played)

    def _restore(self) -> None:
        wanted = WRITTEN + (clock_ms() - self._restores_from_ms) * WRITTEN_PER_S // 1000
        for _ in range(wanted - self._written):
            for number in range(PARTITIONS[RESTORED]):
                self._producer.produce(RESTORED, b"value", b"key", number)
        self._written = wanted
        assert self._producer.flush(PATIENCE_S) == 0


def _created(bootstrap: str) -> Mapping[str, bytes]:
    """The topics that the groups read, with their ids."""
    ask = KafkaTopics({"bootstrap.servers": bootstrap})
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for one in admin.create_topics([NewTopic(name, count, 1) for name, count in PARTITIONS.items()]).values():
        one.result(PATIENCE_S)
    ids: Mapping[str, bytes] = until(lambda: found if PARTITIONS.keys() <= (found := ask().ids).keys() else None)
    return ids


def on_terminal(text: str) -> dict[str, str]:
    """The six lines of `status --group`, without spans of time."""
    lines = (line[2:] for line in text.splitlines() if line.startswith("  "))
    return {line[:11].strip(): plain(line[11:]) for line in lines}


def on_page(text: str) -> dict[str, str]:
    """The six lines of a group's page, before anything else that may be long."""
    section = re.search(r'<section aria-labelledby="answer">(.*?)</section>', text, re.DOTALL)
    if section is None:
        return {}
    assert "<section" not in text[: section.start()]
    found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", section[1], re.DOTALL)
    return {name: plain(unescape(re.sub(r"</?code>", "`", said))) for name, said in found}
