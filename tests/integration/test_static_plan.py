"""KIP-987's test plan, step by step, with simulated workers on a real broker: protocol `static` is in no Kafka release.

Each step says who must hold what afterwards and what its generations must show. `test_the_plan` plays all of them with
an honest leader and wants every generation to be a match and no rule to speak. `test_the_plan_broken` plays them with
a leader that gets one round of the step wrong, and wants exactly the step's rule to speak; then the group heals.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.cluster import broker
from lab.cluster.broker import Broker
from lab.process import Lab
from lab.simulated_group.faults import LeaderFault
from lab.simulated_group.protocol import NO_JOBS, Job, Mode, Process
from lab.simulated_group.rehearsal import PATIENCE_S, Rehearsal, rehearsal
from lab.simulated_group.watcher import Judged
from rebalance_monitor.assignors.connect.model import Jobs
from rebalance_monitor.streaming.core.model.results import Grade, Incident, Severity
from tests.profile import LONG

pytestmark = pytest.mark.integration
MAX_DELAY_MS = 1_500
CONNECTORS = {"alpha": 4, "beta": 4}
ALL: frozenset[Job] = frozenset(CONNECTORS) | {
    (name, task) for name, tasks in CONNECTORS.items() for task in range(tasks)
}
LEVELS = [Mode.SESSIONED, Mode.COMPATIBLE, Mode.EAGER]

# What the first static worker lists: one connector and two tasks.
FIRST_LIST = Jobs(("alpha",), (("alpha", 0), ("beta", 1)))
SHARED: Job = ("alpha", 0)
SOLE: frozenset[Job] = frozenset({"alpha", ("beta", 1)})
TWICE = Jobs((), (("alpha", 0),))
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
        yield lab, broker.start_anywhere(lab)


@dataclass(slots=True)
class Plan:
    """The group of the plan, and the protocol level it starts on."""

    stage: Rehearsal
    level: Mode


Story = Sequence[Judged]


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what is done, in parts that each end in a settled group; what then holds; what the records show.

    `fault` is how a leader can break the step, from part `wrong_from` on, and `codes` the rule that then speaks.
    `info` is said with an honest leader, too.
    """

    name: str
    parts: tuple[Callable[[Plan], None], ...]
    holds: Callable[[Plan], None]
    shows: Callable[[Plan, Story], None]
    fault: LeaderFault
    codes: frozenset[str]
    info: frozenset[str] = frozenset()
    wrong_from: int = -1


def protocols(story: Story) -> set[str | None]:
    return {one.observed.protocol for one in story}


def spread(plan: Plan, names: Sequence[str]) -> None:
    """Connectors and tasks are each within one over these."""
    hands = plan.stage.hands()
    for kind in (str, tuple):
        loads = [sum(isinstance(job, kind) for job in hands[name]) for name in names]
        assert max(loads) - min(loads) <= 1


def complete(plan: Plan) -> None:
    held = plan.stage.watcher.generations()[-1].held()
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
    assert plan.stage.hands()["S1"] == listed(FIRST_LIST)
    wildcard = ALL - listed(FIRST_LIST)
    assert frozenset().union(*(plan.stage.hands()[name] for name in "ABC")) == wildcard
    spread(plan, "ABC")


def since(plan: Plan, story: Story, name: str) -> Story:
    """From the first generation with this part's worker on. Others can stand before it: a round can repeat."""
    return story[next(at for at, one in enumerate(story) if plan.stage.cast[name].address in one.hands()) :]


def without(plan: Plan, story: Story, name: str) -> Judged:
    """The first generation without this part's worker."""
    return next(one for one in story if plan.stage.cast[name].address not in one.hands())


def revoked_then_placed(plan: Plan, story: Story) -> None:
    """Nothing is handed to the lister before it was taken from whoever ran it.

    A worker that did not hear of its revocation shows the job again, and it is revoked again: how many rounds lie
    between is chance.
    """
    lister = plan.stage.cast["S1"].address
    first, *later = since(plan, story, "S1")
    assert listed(FIRST_LIST) <= first.observed.revoked()
    assert first.hands()[lister] == frozenset()
    for job in listed(FIRST_LIST):
        placed = next(one for one in later if job in one.hands()[lister])
        others = [view for view in placed.observed.views.values() if view.worker != lister]
        assert not [view.worker for view in others if job in view.held | view.assigned], job


def nothing_moves(plan: Plan, story: Story) -> None:
    known = {plan.stage.cast[name].address for name in ("A", "B", "C", "S1")}
    for generation in story:
        assert not generation.observed.revoked()
        assert not any(view.assigned for view in generation.observed.views.values())
        assert known <= set(generation.hands())


def idle(name: str) -> Callable[[Plan], None]:
    def holds(plan: Plan) -> None:
        complete(plan)
        assert plan.stage.hands()[name] == frozenset()
        assert plan.stage.hands()["S1"] == listed(FIRST_LIST)

    return holds


def left_to_wildcards(plan: Plan) -> None:
    complete(plan)
    assert plan.stage.hands()["S2"] == {SHARED}
    assert plan.stage.hands()["S3"] == frozenset()
    spread(plan, "ABC")


def waited(plan: Plan, story: Story) -> None:
    """What another lists goes there at once; the rest waits for the whole delay, then goes to wildcard workers."""
    first = without(plan, story, "S1")
    assert first.observed.delay_ms == MAX_DELAY_MS
    assert SHARED in first.held()
    waiting = [one for one in story if one.observed.delay_ms]
    assert all(not SOLE & set(one.held()) for one in waiting)
    assert {frozenset(one.published.connect.unassigned) for one in waiting} == {frozenset({"alpha", "beta-1"})}


def returned(plan: Plan) -> None:
    complete(plan)
    assert plan.stage.hands()["S1"] == SOLE
    assert plan.stage.hands()["S2"] == {SHARED}
    spread(plan, "ABC")


def at_once(plan: Plan, story: Story) -> None:
    assert not any(one.observed.delay_ms for one in story)
    assert since(plan, story, "S1")[0].observed.revoked() >= SOLE


def unassigned(plan: Plan) -> None:
    assert plan.stage.hands() == {"S1": SOLE, "S2": {SHARED}, "S3": frozenset()}


def without_wildcards(plan: Plan, story: Story) -> None:
    assert story[-1].observed.delay_ms == 0
    assert set(story[-1].held()) == listed(FIRST_LIST)


def covered(plan: Plan) -> None:
    complete(plan)
    assert plan.stage.hands()["S4"] == listed(REST)


def all_static(_: Plan, story: Story) -> None:
    assert protocols(story) == {"static"}


def ignored_then_acting(plan: Plan, story: Story) -> None:
    """One worker below `static` takes the whole group down with it, and up again when it is gone."""
    with_guest = [one for one in story if plan.stage.cast["X"].address in one.hands()]
    assert protocols(with_guest) == {"sessioned"}
    assert with_guest[-1].hands()[plan.stage.cast["X"].address]
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
        plan.stage.join(name, Process(plan.level))


def only(*codes: str) -> frozenset[str]:
    return frozenset(codes)


PLAN = (
    Step("1 three workers on the old level", (starts,), began, on_level, LeaderFault.DUPLICATE, only("CONNECT-I1")),
    Step(
        "2 rolled to static without declarations",
        tuple(lambda plan, name=name: plan.stage.roll(name, static()) for name in "ABC"),  # type: ignore[misc]
        began, rolled_up, LeaderFault.WRONG_ARITHMETIC, only("CONNECT-S11"),
    ),
    Step(
        "3 a static worker lists a connector and two tasks",
        (lambda plan: plan.stage.join("S1", static(FIRST_LIST)),),
        first_listed, revoked_then_placed, LeaderFault.STATIC_ON_WILDCARD, only("CONNECT-S1"),
    ),
    Step(
        "4 a second lister of one of the tasks",
        (lambda plan: plan.stage.join("S2", static(TWICE)),),
        idle("S2"), nothing_moves, LeaderFault.WRONG_ARITHMETIC, only("CONNECT-I13"),
    ),
    Step(
        "5 a worker lists only what does not exist",
        (lambda plan: plan.stage.join("S3", static(MISSING)),),
        idle("S3"), nothing_moves, LeaderFault.MISSING_FORGOTTEN, only("CONNECT-S8"),
    ),
    Step(
        "6 the sole lister stops",
        (lambda plan: plan.stage.leave("S1"),),
        left_to_wildcards, waited, LeaderFault.WILDCARD_UNPLACED, only("CONNECT-S6"),
    ),
    Step(
        "7 the sole lister returns",
        (lambda plan: plan.stage.join("S1", static(FIRST_LIST)),),
        returned, at_once, LeaderFault.STATIC_ON_STRANGER, only("CONNECT-S2"),
    ),
    Step(
        "8 all wildcard workers stop",
        (lambda plan: plan.stage.leave("A", "B", "C"),),
        unassigned, without_wildcards, LeaderFault.WILDCARD_ON_STATIC, only("CONNECT-S3"), only("CONNECT-S6"),
    ),
    Step(
        "9 static workers cover everything",
        (lambda plan: plan.stage.join("S4", static(REST)),),
        covered, all_static, LeaderFault.STATIC_UNPLACED, only("CONNECT-S5"),
    ),
    Step(
        "10 a sessioned guest comes and goes",
        (
            lambda plan: plan.stage.join("X", Process(Mode.SESSIONED)),
            lambda plan: plan.stage.group.rejoin(),
            lambda plan: plan.stage.leave("X"),
        ),
        covered, ignored_then_acting, LeaderFault.HIDDEN_DECLARATIONS, only("CONNECT-S9"), only("CONNECT-K13"), 1,
    ),
    Step(
        "11 rolled down to sessioned",
        tuple(lambda plan, name=name: plan.stage.roll(name, Process()) for name in ("S1", "S2", "S3", "S4")),  # type: ignore[misc]
        balanced, rolled_down, LeaderFault.IMBALANCE, only("CONNECT-I8"), only("CONNECT-K13", "CONNECT-S6"),
    ),
)  # fmt: skip


# Not in the KIP: situations in which a leader can break the rules that the plan leaves out. They end as step 7 does.
MORE = (
    Step(
        "7a the holder leaves two other listers",
        (lambda plan: plan.stage.join("S5", static(TWICE)), lambda plan: plan.stage.leave("S2")),
        complete, all_static, LeaderFault.STATIC_UNPLACED, only("CONNECT-S10"),
    ),
    Step(
        "7b the holder returns, the stand-in leaves",
        (lambda plan: plan.stage.join("S2", static(TWICE)), lambda plan: plan.stage.leave("S5")),
        returned, all_static, LeaderFault.DUPLICATE, only("CONNECT-I1"),
    ),
    Step(
        "7c the sole lister bounces",
        (lambda plan: plan.stage.leave("S1"), lambda plan: plan.stage.join("S1", static(FIRST_LIST))),
        returned, at_once, LeaderFault.MISPLACED_KEPT, only("CONNECT-S1", "CONNECT-S4"),
    ),
    Step(
        "7d a wildcard worker bounces",
        (lambda plan: plan.stage.leave("B"), lambda plan: plan.stage.join("B", static())),
        returned, all_static, LeaderFault.IMBALANCE, only("CONNECT-S7"),
    ),
)  # fmt: skip


@pytest.fixture
def plan(kafka: tuple[Lab, Broker], request: pytest.FixtureRequest) -> Iterator[Plan]:
    level: Mode = request.param
    group = f"{request.function.__name__.replace('_', '-')}-{level.name.lower()}"
    with rehearsal(*kafka, group, CONNECTORS, max_delay_ms=MAX_DELAY_MS) as stage:
        yield Plan(stage, level)


def play(plan: Plan, step: Step, *, broken: bool = False) -> Story:
    """Every part of the step, each until the group has settled."""
    for number, part in enumerate(step.parts):
        before = plan.stage.group.generation
        if broken and number == step.wrong_from % len(step.parts):
            plan.stage.group.mislead(step.fault)
        part(plan)
        plan.stage.settle(step.name, before)
    return plan.stage.story()


def said(plan: Plan, story: Story) -> list[Incident]:
    """What was found since the story began: anything about static assignments, and all that is more than info."""
    found = plan.stage.watcher.findings(story[0].published.at_ms)
    return [one for one in found if one.code.startswith("CONNECT-S") or one.severity in SPOKEN_OF]


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
        assert [one for one in said(plan, story) if one.code not in step.info] == [], where


@pytest.mark.parametrize("plan", LEVELS if LONG else LEVELS[:1], indirect=True, ids=lambda level: level.name.lower())
def test_the_plan_broken(plan: Plan) -> None:
    for step in (*PLAN[:7], *MORE, *PLAN[7:]):
        story = play(plan, step, broken=True)
        where = f"step {step.name}"
        assert plan.stage.group.obedient, f"{where}: no opportunity for {step.fault.name}"
        codes = {one.code for one in said(plan, story)}
        heal(plan, step)
        assert codes - step.info == step.codes, where


def heal(plan: Plan, step: Step) -> None:
    """An honest leader repairs what its wrong answer left, in as many rounds as it takes."""

    def right() -> bool:
        before = plan.stage.group.generation
        plan.stage.group.rejoin()
        plan.stage.settle(f"after step {step.name}", before)
        plan.stage.story()
        with suppress(AssertionError):
            step.holds(plan)
            return True
        return False

    plan.stage.lab.wait_for(f"the group healed after step {step.name}", right, timeout_s=PATIENCE_S)
