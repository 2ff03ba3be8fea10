"""Each step of each runbook is declared, and what moves work is played: it helps where its declaration says so."""

import re

import pytest

from rebalance_monitor.assignors.connect.eras import ERAS, era_of
from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.connect.advice.proof import DELAYS_MS, effect_of, moving_steps, played, table
from rebalance_monitor.streaming.core.connect.advice.scenarios import SCENARIOS
from rebalance_monitor.streaming.core.connect.advice.words import WAITING_MOVES, limits, whole_text
from rebalance_monitor.streaming.core.incidents.commands import COMMANDS
from rebalance_monitor.streaming.core.incidents.own_alerts import OWN_ALERTS
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.step import Step, StepKind, WorkerMove, looks, moves

MOVING = [rule for rule in RULES if any(moving_steps(rule))]
STEPS = [(rule.code, step) for rule in RULES for step in rule.advice] + [
    (own.name, step) for own in OWN_ALERTS for step in own.advice
]
TELLS_TO_MOVE = re.compile(
    r"(?i)(?<!not )\b(restart|stop|start|upgrade|scale|kill|add|bring back)\b(?! no )[^.;:]*\b(worker|workers|leader)\b"
)


@pytest.mark.parametrize(("owner", "step"), STEPS, ids=[f"{owner}-{at}" for at, (owner, _) in enumerate(STEPS)])
def test_each_step_is_declared(owner: str, step: Step) -> None:
    assert isinstance(step, Step)
    assert (step.move is not None) == (step.kind is StepKind.MOVES)
    if step.kind is not StepKind.MOVES:
        assert not TELLS_TO_MOVE.search(step.text) or owner.startswith("RebalanceMonitor"), step.text


@pytest.mark.parametrize("rule", MOVING, ids=lambda rule: rule.code)
def test_what_moves_work_is_played_and_helps_where_it_is_declared_to_help(rule: Rule) -> None:
    rows = list(played(rule))
    print("\n" + "\n".join(table(iter(rows))))
    for step in moving_steps(rule):
        for max_delay_ms, useless in ((DELAYS_MS[0], step.useless_in), (DELAYS_MS[1], step.useless_without_delay_in)):
            mine = [row for row in rows if row.step is step and row.max_delay_ms == max_delay_ms]
            assert {row.era.name for row in mine} == set(ERAS)
            assert {row.era.name for row in mine if row.effect is not None and not row.effect.helps} == useless
        assert any(row.effect is not None and row.effect.helps for row in rows if row.step is step)


@pytest.mark.parametrize("rule", MOVING, ids=lambda rule: rule.code)
def test_who_waits_for_a_delay_is_told_before(rule: Rule) -> None:
    """Only the moves that say what they cost make anything wait for the configured delay."""
    for row in played(rule):
        if row.effect is not None and row.effect.longest_ms >= DELAYS_MS[0]:
            assert row.step.move in WAITING_MOVES
            assert row.step.warns or "scheduled.rebalance.max.delay.ms" in whole_text(row.step)


@pytest.mark.parametrize("release", ["2.8.2", "3.2.3"])
def test_to_restart_the_heavy_worker_does_nothing_where_imbalance_occurs(release: str) -> None:
    era, scenario = era_of(release), SCENARIOS["CONNECT-I8"]

    def effect(move: WorkerMove, max_delay_ms: int) -> tuple[bool, int]:
        done = effect_of(scenario, moves("", move), era, max_delay_ms)
        assert done is not None
        return done.helps, done.longest_ms

    assert effect(WorkerMove.RESTART_NAMED, 300_000) == (False, 300_000)
    assert effect(WorkerMove.RESTART_NAMED, 0) == (True, 30_000)
    assert effect(WorkerMove.KEEP_NAMED_AWAY, 300_000) == (True, 300_000)
    assert effect(WorkerMove.RESTART_LEADER, 300_000) == (True, 0)
    assert effect(WorkerMove.UPGRADE, 300_000) == (True, 0)


def test_the_runbook_says_where_a_step_does_not_help() -> None:
    (rule,) = [rule for rule in RULES if rule.code == "CONNECT-I8"]
    (step,) = [step for step in rule.advice if step.move is WorkerMove.RESTART_NAMED]
    assert limits(step) == "With a delay above 0 it does not help in releases before 3.4.0; with a delay of 0 it does."
    everywhere = moves("x", WorkerMove.RESTART_LEADER, useless_in="A4", useless_without_delay_in="A4")
    assert limits(everywhere) == "Does not help with leaders of 3.4.0 to 3.5.1, 3.6.0."


def test_a_step_that_only_looks_cannot_be_played() -> None:
    with pytest.raises(ValueError, match="only a step that moves work"):
        effect_of(SCENARIOS["CONNECT-I4"], looks("Look."), ERAS["A5"], 0)


def test_every_scenario_belongs_to_a_rule_that_moves_work_and_every_move_has_commands() -> None:
    assert set(SCENARIOS) == {rule.code for rule in MOVING}
    used = {step.move for rule in MOVING for step in moving_steps(rule)}
    assert used == set(COMMANDS)
