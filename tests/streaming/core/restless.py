"""A random group on its way: workers come, go, come back with their jobs, or lose the coordinator and give all up."""

import random
from collections.abc import Collection

from rebalance_monitor.assignors.connect.model import Jobs
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Generation
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from tests.streaming.core.rules.builders import CONFIGS, OFFSETS, STATUSES, Story, generations

ERAS = ("A5", "A5", "A5", "A5", "A4", "A3b", "A3a", "A2")


class Restless:
    """A story whose events are drawn; every record is a right leader's."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.delay_ms = self.dice.choice((300_000, 300_000, 60_000, 5_000, 1, 0))
        unknown = ConnectSettings(config_topic=CONFIGS, status_topic=STATUSES)
        self.story = Story(
            self.dice.choice(("sessioned", "sessioned", "compatible")),
            max_delay_ms=self.delay_ms,
            era=self.dice.choice(ERAS),
            known=self.dice.choice((unknown, None)),
        )
        self.connectors = self.workers = 0
        for _ in range(self.dice.randint(1, 3)):
            self.connect()
        for _ in range(self.dice.randint(1, 4)):
            self.join()

    def live(self, rounds: int) -> Story:
        gone = []
        for _ in range(rounds):
            match self.dice.choices(
                ("join", "leave", "back", "outage", "restart", "change", "new", ""), (3, 2, 1, 2, 1, 2, 1, 8)
            )[0]:
                case "join":
                    self.join()
                case "leave" if len(self.story.workers) > 1:
                    gone.append(self.story.leave(self.one()))
                case "back" if gone:
                    self.story.back(gone.pop(self.dice.randrange(len(gone))))
                case "outage":
                    self.outage()
                case "restart" if len(self.story.workers) > 1:
                    self.story.restart(self.one())
                case "change":
                    self.story.configure(f"c{self.dice.randrange(self.connectors)}", self.dice.randint(1, 6))
                case "new":
                    self.connect()
                case _:
                    pass
            self.story.rebalance(
                after_ms=self.dice.choice((50, 500, 1_000, 3_000, 20_000, 61_000, self.delay_ms + 10)),
                missed=[name for name in self.story.workers if self.dice.random() < 0.05],
                leader=self.one() if self.dice.random() < 0.08 else None,
            )
        return self.story

    def one(self) -> str:
        return self.dice.choice(list(self.story.workers))

    def join(self) -> None:
        self.story.join(f"w{self.workers}")
        self.workers += 1

    def connect(self) -> None:
        self.story.configure(f"c{self.connectors}", self.dice.randint(1, 6))
        self.connectors += 1

    def outage(self) -> None:
        """Some workers do not reach the coordinator: they give their jobs up, and may come back under another id."""
        for worker in list(self.story.workers.values()):
            if self.dice.random() < 0.7:
                worker.held, worker.header = Jobs(), None
                if self.dice.random() < 0.5:
                    self.story.back(worker)


def records(story: Story) -> list[Row]:
    return [row for row in story.rows if row.topic == OFFSETS]


def seen(story: Story, first: int, left_out: Collection[int] = ()) -> list[Generation]:
    """The generations of a reader that begins with this record and never sees some others."""
    rest = [row for row in story.rows if row.topic != OFFSETS]
    group = story.followed()
    group.fold(rest, 0)
    for at, row in enumerate(records(story)):
        if at >= first and at not in left_out:
            group.fold([row], 0)
    return generations(group.results)
