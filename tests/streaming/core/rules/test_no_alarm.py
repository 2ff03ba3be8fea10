"""No false alarm: whatever happens to a group, as long as its leaders answer right no law of one record breaks.

What is really harmful is named: a zombie's duplicates, and before 3.5.2 jobs left lying (KAFKA-15693).
"""

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.model.results import Grade, Severity
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from tests.streaming.core.rules.builders import CONFIGS, GROUP, STATUSES, Story, generations, incidents
from tests.streaming.core.rules.processes import Worker

NAMES = ["a", "b", "é-1", "c"]
WORLDS = {
    "A5": ("sessioned", "A5"),
    "A4": ("compatible", "A4"),
    "A3b": ("sessioned", "A3b"),
    "A3a": ("compatible", "A3a"),
    "eager": ("default", "A5"),
    "static": ("static", "A5"),
}
MEMBERS = {"join": 3, "leave": 2, "crash": 1, "restart": 1, "back": 1}
CONFIGURATION = {"configure": 3, "delete": 1, "lag": 1, "catch_up": 1}
ROUNDS = {"race": 2, "lead": 1, "missed": 1, "unseen": 1, "expire": 1, "wait": 1, "nothing": 2}
WEIGHTS = {**MEMBERS, **CONFIGURATION, **ROUNDS}


class Fate:
    """A group's random life, decided by one seed."""

    def __init__(self, story: Story, seed: int) -> None:
        self.story, self.dice = story, random.Random(seed)
        self.gone: list[Worker] = []
        self.joined = 0

    def live(self, rounds: int) -> None:
        self.join()
        self.story.rebalance()
        for _ in range(rounds):
            (what,) = self.dice.choices(list(WEIGHTS), list(WEIGHTS.values()))
            self.step(what)

    def join(self) -> None:
        self.joined += 1
        static: list[str] = []
        if self.story.protocol == "static" and self.dice.random() < 0.5:
            names = [*NAMES, *(f"{name}-{number}" for name in NAMES for number in range(4)), "absent-1"]
            static = self.dice.sample(names, self.dice.randint(1, 5))
        self.story.join(f"w{self.joined}", static=static)

    def step(self, what: str) -> None:
        """One thing happens, then one generation follows."""
        if what in MEMBERS:
            self.move(what)
        elif what in CONFIGURATION:
            self.change(what)
        elif what == "unseen":
            self.story.rebalance(recorded=False)
        story, dice = self.story, self.dice
        waits = {"wait": 310_000, "expire": story.max_delay_ms + 50}
        story.rebalance(
            leader=self.one() if what == "lead" else None,
            missed={self.one()} if what == "missed" else (),
            behind=what == "race" and self.races(),
            fresh=dice.random() < 0.7,
            after_ms=waits.get(what, dice.choice([5, 41, 1_000, 1_700, 30_000])),
        )

    def races(self) -> bool:
        """A new record, which the leader has read and not yet applied; one that is stuck has read nothing new."""
        self.change(self.dice.choice(["configure", "delete"]))
        leader = self.story.workers.get(self.story.leader or "")
        return leader is not None and leader.reads_until is None

    def one(self) -> str:
        return self.dice.choice(list(self.story.workers))

    def move(self, what: str) -> None:
        story = self.story
        if what == "join":
            self.join()
        elif what == "back":
            worker = self.gone.pop() if self.gone else None
            if worker is not None and worker.name not in story.workers:
                story.back(worker)
        elif len(story.workers) > 1:
            match what:
                case "leave":
                    story.leave(self.one())
                case "crash":
                    self.gone.append(story.leave(self.one()))
                case "restart":
                    story.restart(self.one())
                case _:
                    raise ValueError(what)

    def change(self, what: str) -> None:
        story, dice = self.story, self.dice
        match what:
            case "configure":
                story.configure(dice.choice(NAMES), dice.choice([None, 0, 1, 3, 8]))
            case "delete":
                story.delete(dice.choice(NAMES))
            case "lag":
                worker = story.workers[self.one()]
                worker.reads_until = story.offset_of(worker)
            case "catch_up":
                for worker in story.workers.values():
                    worker.reads_until = None
            case _:
                raise ValueError(what)


def lived(world: str, seed: int, max_delay_ms: int, rounds: int, *, told: bool) -> Story:
    protocol, era = WORLDS[world]
    story = Story(protocol, era=era, max_delay_ms=max_delay_ms)
    if not told:
        story.settings = replace(
            story.settings, connect={GROUP: ConnectSettings(config_topic=CONFIGS, status_topic=STATUSES)}
        )
    Fate(story, seed).live(rounds)
    return story


def alarms(story: Story) -> Counter[str]:
    """Codes of what is reported above info, but for the harm that is real."""
    results = story.fold()
    found = Counter(
        one.code
        for one in incidents(results)
        if one.transition == "opened"
        and one.code.startswith(("CONNECT-I", "CONNECT-S", "CONNECT-P"))
        and one.severity is not Severity.INFO
        and not (one.code == "CONNECT-I2" and one.severity is Severity.MEDIUM)
        and not (one.code == "CONNECT-I4" and not story.era.places_at_once_without_delay and story.max_delay_ms == 0)
    )
    found.update(one.verdict.grade.value for one in generations(results) if one.verdict.grade is Grade.UNEXPLAINED)
    return found


# One life is twenty rounds, each judged: a tenth of the profile's examples for each of the six worlds.
LIVES = settings.default.max_examples // 10 if settings.default is not None else 6


@pytest.mark.parametrize("world", WORLDS)
@settings(max_examples=LIVES)
@given(seed=st.integers(0, 2**32), max_delay_ms=st.sampled_from([0, 1, 1_000, 300_000]), told=st.booleans())
def test_a_right_leader_raises_no_alarm(world: str, seed: int, max_delay_ms: int, told: bool) -> None:
    story = lived(world, seed, max_delay_ms, 20, told=told)
    assert not alarms(story)
