"""KIP-987's test plan, step by step, with simulated workers on a real broker: protocol `static` is in no Kafka release.

Each step says who must hold what afterwards and what its generations must show. `test_the_plan` plays all of them with
an honest leader and wants every generation to be a match and no rule to speak. `test_the_plan_broken` plays them with
a leader that gets one round of the step wrong, and wants exactly the step's rule to speak; then the group heals.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from assignors.connect_model import Jobs
from lab import broker, config_topic, jars, java, workers
from lab.broker import Broker
from lab.members import SimulatedGroup
from lab.ports import free_ports
from lab.process import Lab
from lab.simulated_faults import LeaderFault
from lab.simulated_protocol import NO_JOBS, Job, Mode, Process
from lab.simulated_worker import SimulatedWorker, Timing
from lab.watcher import Judged, Watcher
from streaming.core.results import Grade, Severity
from streaming.core.settings import ClusterSettings, ConnectSettings

pytestmark = pytest.mark.integration
MAX_DELAY_MS = 1_500
TIMING = Timing(session_timeout_ms=6_000, heartbeat_interval_ms=150, rebalance_timeout_ms=10_000)
CONNECTORS = {"alpha": 4, "beta": 4}
ALL: frozenset[Job] = frozenset(CONNECTORS) | {
    (name, task) for name, tasks in CONNECTORS.items() for task in range(tasks)
}
LONG = os.environ.get("RM_HYPOTHESIS_PROFILE") == "long"
LEVELS = [Mode.SESSIONED, Mode.COMPATIBLE, Mode.EAGER] if LONG else [Mode.SESSIONED]

# What the first static worker lists: one connector and two tasks.
FIRST_LIST = Jobs(("alpha",), (("alpha", 0), ("beta", 1)))
SHARED: Job = ("alpha", 0)
SOLE: frozenset[Job] = frozenset({"alpha", ("beta", 1)})
MISSING = Jobs(("gamma",), (("gamma", 0),))
REST = Jobs(("beta",), (*(("alpha", task) for task in (1, 2, 3)), *(("beta", task) for task in (0, 2, 3))))

SPOKEN_OF = frozenset({Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL})


def static(jobs: Jobs = NO_JOBS) -> Process:
    return Process(Mode.STATIC, jobs)


def listed(jobs: Jobs) -> frozenset[Job]:
    return frozenset((*jobs.connectors, *jobs.tasks))


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Broker]]:
    with Lab(Path(tmp_path_factory.mktemp("static-plan"))) as lab:
        runtime = java.find()
        yield lab, broker.start(lab, runtime, jars.fetch(runtime), *free_ports(2))


@dataclass(slots=True)
class Plan:
    """The group of the plan, who plays which part in it, and what the monitor says of it."""

    lab: Lab
    group: SimulatedGroup
    watcher: Watcher
    level: Mode
    seen: int = 0
    cast: dict[str, SimulatedWorker] = field(default_factory=dict)

    def join(self, name: str, process: Process) -> None:
        self.cast[name] = self.group.add(process, self.cast[name].port if name in self.cast else None)

    def leave(self, *names: str) -> None:
        for name in names:
            self.group.remove(self.cast[name])

    def roll(self, name: str, process: Process) -> None:
        self.cast[name] = self.group.bounce(self.cast[name], process)

    def settle(self, what: str, after: int) -> None:
        """Until all members are in one generation later than `after` and nothing is pending."""
        self.lab.wait_for(what, lambda: self.group.settled() and self.group.generation > after, timeout_s=30)

    def story(self) -> list[Judged]:
        """The generations since the last call, up to the one the group is in."""
        found: list[Judged] = []

        def complete() -> bool:
            self.watcher.look()
            found[:] = self.watcher.generations()
            return bool(found) and found[-1].observed.generation >= self.group.generation

        self.lab.wait_for("the group's records", complete, timeout_s=30)
        fresh, self.seen = found[self.seen :], len(found)
        return fresh

    def hands(self) -> dict[str, frozenset[Job]]:
        """What each part holds, by the group's last record."""
        hands = self.watcher.generations()[-1].hands()
        return {name: hands[worker.address] for name, worker in self.cast.items() if worker.address in hands}


Story = Sequence[Judged]


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what is done, in parts that each end in a settled group; what then holds; what the records show.

    `fault` is how a leader can break the step, `code` the rule that then speaks. `info` may be said by an honest one.
    """

    name: str
    parts: tuple[Callable[[Plan], None], ...]
    holds: Callable[[Plan], None]
    shows: Callable[[Plan, Story], None]
    fault: LeaderFault
    code: str
    info: frozenset[str] = frozenset()


def protocols(story: Story) -> set[str | None]:
    return {one.observed.protocol for one in story}


def spread(plan: Plan, names: Sequence[str]) -> None:
    """Connectors and tasks are each within one over these."""
    hands = plan.hands()
    for kind in (str, tuple):
        loads = [sum(isinstance(job, kind) for job in hands[name]) for name in names]
        assert max(loads) - min(loads) <= 1


def complete(plan: Plan) -> None:
    held = plan.watcher.generations()[-1].held()
    assert len(held) == len(set(held))
    assert set(held) == ALL


def began(plan: Plan) -> None:
    complete(plan)
    spread(plan, "ABC")


def on_level(plan: Plan, story: Story) -> None:
    assert protocols(story) == {plan.level.value}


def rolled_up(plan: Plan, story: Story) -> None:
    """The group stays on its level as long as one worker does."""
    last = max(at for at, one in enumerate(story) if one.observed.protocol == plan.level.value)
    assert protocols(story[: last + 1]) == {plan.level.value}
    assert protocols(story[last + 1 :]) == {"static"}
    assert all(len(one.observed.views) <= 3 for one in story)


def first_listed(plan: Plan) -> None:
    complete(plan)
    assert plan.hands()["S1"] == listed(FIRST_LIST)
    wildcard = ALL - listed(FIRST_LIST)
    assert frozenset().union(*(plan.hands()[name] for name in "ABC")) == wildcard
    spread(plan, "ABC")


def revoked_then_placed(plan: Plan, story: Story) -> None:
    """Nothing is handed to the lister before it was taken from whoever ran it."""
    assert listed(FIRST_LIST) <= story[0].observed.revoked()
    placed = [at for at, one in enumerate(story) if one.hands()[plan.cast["S1"].address]]
    assert placed[0] == 1


def nothing_moves(plan: Plan, story: Story) -> None:
    known = {plan.cast[name].address for name in ("A", "B", "C", "S1")}
    for one in story:
        assert not one.observed.revoked()
        assert not any(view.assigned for view in one.observed.views.values())
        assert known <= set(one.hands())


def idle(name: str) -> Callable[[Plan], None]:
    def holds(plan: Plan) -> None:
        complete(plan)
        assert plan.hands()[name] == frozenset()
        assert plan.hands()["S1"] == listed(FIRST_LIST)

    return holds


def left_to_wildcards(plan: Plan) -> None:
    complete(plan)
    assert plan.hands()["S2"] == {SHARED}
    assert plan.hands()["S3"] == frozenset()
    spread(plan, "ABC")


def waited(plan: Plan, story: Story) -> None:
    """What another lists goes there at once; the rest waits for the whole delay, then goes to wildcard workers."""
    assert story[0].observed.delay_ms == MAX_DELAY_MS
    assert SHARED in story[0].held()
    waiting = [one for one in story if one.observed.delay_ms]
    assert all(not SOLE & set(one.held()) for one in waiting)
    assert {frozenset(one.published.unassigned) for one in waiting} == {frozenset({"alpha", "beta-1"})}


def returned(plan: Plan) -> None:
    complete(plan)
    assert plan.hands()["S1"] == SOLE
    assert plan.hands()["S2"] == {SHARED}
    spread(plan, "ABC")


def at_once(plan: Plan, story: Story) -> None:
    assert not any(one.observed.delay_ms for one in story)
    assert story[0].observed.revoked() >= SOLE


def unassigned(plan: Plan) -> None:
    assert plan.hands() == {"S1": SOLE, "S2": {SHARED}, "S3": frozenset()}


def without_wildcards(plan: Plan, story: Story) -> None:
    assert story[-1].observed.delay_ms == 0
    assert set(story[-1].held()) == listed(FIRST_LIST)


def covered(plan: Plan) -> None:
    complete(plan)
    assert plan.hands()["S4"] == listed(REST)


def all_static(_: Plan, story: Story) -> None:
    assert protocols(story) == {"static"}


def ignored_then_acting(plan: Plan, story: Story) -> None:
    """One worker below `static` takes the whole group down with it, and up again when it is gone."""
    with_guest = [one for one in story if plan.cast["X"].address in one.hands()]
    assert protocols(with_guest) == {"sessioned"}
    assert with_guest[-1].hands()[plan.cast["X"].address]
    assert len(set(with_guest[-1].held())) == len(ALL)
    assert story[-1].observed.protocol == "static"


def rolled_down(plan: Plan, story: Story) -> None:
    assert story[-1].observed.protocol == "sessioned"
    at = [one.observed.protocol for one in story].index("sessioned")
    assert protocols(story[at:]) == {"sessioned"}


def balanced(plan: Plan) -> None:
    complete(plan)
    spread(plan, ("S1", "S2", "S3", "S4"))


def starts(plan: Plan) -> None:
    for name in "ABC":
        plan.join(name, Process(plan.level))


PLAN = (
    Step("1 three workers on the old level", (starts,), began, on_level, LeaderFault.DUPLICATE, "CONNECT-I1"),
    Step(
        "2 rolled to static without declarations",
        tuple(lambda plan, name=name: plan.roll(name, static()) for name in "ABC"),  # type: ignore[misc]
        began, rolled_up, LeaderFault.UNPLACED, "CONNECT-S6",
    ),
    Step(
        "3 a static worker lists a connector and two tasks",
        (lambda plan: plan.join("S1", static(FIRST_LIST)),),
        first_listed, revoked_then_placed, LeaderFault.STATIC_ON_WILDCARD, "CONNECT-S1",
    ),
    Step(
        "4 a second lister of one of the tasks",
        (lambda plan: plan.join("S2", static(Jobs((), (SHARED,)))),),  # type: ignore[arg-type]
        idle("S2"), nothing_moves, LeaderFault.WRONG_ARITHMETIC, "",
    ),
    Step(
        "5 a worker lists only what does not exist",
        (lambda plan: plan.join("S3", static(MISSING)),),
        idle("S3"), nothing_moves, LeaderFault.WRONG_ARITHMETIC, "",
    ),
    Step(
        "6 the sole lister stops",
        (lambda plan: plan.leave("S1"),),
        left_to_wildcards, waited, LeaderFault.WILDCARD_ON_STATIC, "CONNECT-S3",
    ),
    Step(
        "7 the sole lister returns",
        (lambda plan: plan.join("S1", static(FIRST_LIST)),),
        returned, at_once, LeaderFault.MISPLACED_KEPT, "CONNECT-S4",
    ),
    Step(
        "8 all wildcard workers stop",
        (lambda plan: plan.leave("A", "B", "C"),),
        unassigned, without_wildcards, LeaderFault.WILDCARD_ON_STATIC, "CONNECT-S3", frozenset({"CONNECT-S6"}),
    ),
    Step(
        "9 static workers cover everything",
        (lambda plan: plan.join("S4", static(REST)),),
        covered, all_static, LeaderFault.STATIC_ON_STRANGER, "CONNECT-S2",
    ),
    Step(
        "10 a sessioned guest comes and goes",
        (lambda plan: plan.join("X", Process(Mode.SESSIONED)), lambda plan: plan.leave("X")),
        covered, ignored_then_acting, LeaderFault.HIDDEN_DECLARATIONS, "CONNECT-S9", frozenset({"CONNECT-K13"}),
    ),
    Step(
        "11 rolled down to sessioned",
        tuple(lambda plan, name=name: plan.roll(name, Process()) for name in ("S1", "S2", "S3", "S4")),  # type: ignore[misc]
        balanced, rolled_down, LeaderFault.IMBALANCE, "CONNECT-I8", frozenset({"CONNECT-K13"}),
    ),
)  # fmt: skip


@pytest.fixture
def plan(kafka: tuple[Lab, Broker], request: pytest.FixtureRequest) -> Iterator[Plan]:
    lab, node = kafka
    level: Mode = request.param
    group = f"plan-{request.function.__name__.rpartition('_')[2]}-{level.name.lower()}"
    topics = {"config_topic": workers.config_topic(group), "status_topic": workers.status_topic(group)}
    config_topic.create(node.address, {topics["config_topic"]: 1, topics["status_topic"]: 3})
    log = config_topic.ConfigLog(node.address, topics["config_topic"])
    for name, tasks in CONNECTORS.items():
        log.create(name, tasks)
    settings = ClusterSettings(
        name="plan",
        session_timeout_ms=TIMING.session_timeout_ms,
        rebalance_timeout_ms=TIMING.rebalance_timeout_ms,
        connect={
            group: ConnectSettings(**topics, max_delay_ms=MAX_DELAY_MS, release="4.3.1", java_version=17)  # type: ignore[arg-type]
        },
    )
    simulated = SimulatedGroup(
        node.address, group, workers=0, config=log, status_topic=topics["status_topic"],
        max_delay_ms=MAX_DELAY_MS, timing=TIMING,
    )  # fmt: skip
    with simulated, Watcher(node.address, settings, group) as watcher:
        yield Plan(lab, simulated, watcher, level)


def play(plan: Plan, step: Step) -> Story:
    """Every part of the step, each until the group has settled."""
    for part in step.parts:
        before = plan.group.generation
        part(plan)
        plan.settle(step.name, before)
    return plan.story()


@pytest.mark.parametrize("plan", LEVELS, indirect=True, ids=lambda level: level.name.lower())
def test_the_plan(plan: Plan) -> None:
    for step in PLAN:
        story = play(plan, step)
        where = f"step {step.name}"
        verdicts = [(one.observed.generation, one.published.verdict) for one in story]
        others = [(number, one.grade, one.reason) for number, one in verdicts if one.grade is not Grade.MATCH]
        assert others == [], where
        step.holds(plan)
        step.shows(plan, story)
        since_ms = story[0].published.at_ms
        said = [one for one in plan.watcher.findings(since_ms) if one.code.startswith("CONNECT-S")]
        said += [one for one in plan.watcher.findings(since_ms) if one.severity in SPOKEN_OF]
        assert [one for one in said if one.code not in step.info] == [], where
