"""`make advised`: what `advise` computes of another setting, against a real cluster that has it.

The same comings and goings are played on one broker under each setting, and captured with `rebalance-monitor capture`.
`advise` then computes from the history of one setting that of the other. A line of the table is a figure: what was
computed, and what the other cluster's records show. At least nine of ten must be within.
"""

import argparse
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from lab.advised.compared import Compared, agree, table
from lab.advised.played import IdleTime, Played, captured, idle, of_targets
from lab.advised.scripts import Connect, Consumers, Stage
from lab.cluster import broker, jars, java
from lab.errors import LabError, says_why
from lab.paths import BUILD
from lab.ports import free_ports
from lab.process import Lab, Progress, signals_stop
from rebalance_monitor.streaming.stories.whatif.change import CannotPredict
from rebalance_monitor.streaming.stories.whatif.connect_history import ConnectSetting, under_setting
from rebalance_monitor.streaming.stories.whatif.history import (
    HistoryAnswer,
    HistoryFigures,
    under_assignor,
    under_targets,
)
from rebalance_monitor.streaming.stories.whatif.static_history import under_static_members

FOLDER = BUILD / "advised" / "run"
CAPTURES = BUILD / "advised" / "captures"
SETTINGS: dict[str, Connect | Consumers] = {
    "delay-15": Connect(delay_ms=15_000),
    "delay-5": Connect(delay_ms=5_000),
    "eager": Connect(delay_ms=5_000, protocol="eager"),
    "range": Consumers(),
    "cooperative": Consumers(assignor="cooperative-sticky"),
    "uniform": Consumers(assignor="uniform", targets=True),
    "dynamic": Consumers(bounced=True),
    "static": Consumers(bounced=True, static=True),
}


@dataclass(frozen=True, slots=True)
class Experiment:
    """From the history of one setting that of the other is computed."""

    before: str
    after: str

    @property
    def name(self) -> str:
        return f"{self.before}-to-{self.after}"


EXPERIMENTS = {
    one.name: one
    for one in (
        Experiment("delay-15", "delay-5"),
        Experiment("delay-5", "delay-15"),
        Experiment("eager", "delay-5"),
        Experiment("range", "cooperative"),
        Experiment("cooperative", "range"),
        Experiment("range", "uniform"),
        Experiment("cooperative", "uniform"),
        Experiment("dynamic", "static"),
    )
}


@says_why("advised")
def main() -> int:
    """Play each setting that is needed, then compare."""
    parser = argparse.ArgumentParser(
        prog="make advised", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"of {', '.join(EXPERIMENTS)}")
    asked = parser.parse_args()
    wanted = _wanted(asked.only or list(EXPERIMENTS))
    shutil.rmtree(FOLDER, ignore_errors=True)
    with signals_stop(), Lab(FOLDER, Progress()) as lab:
        played = take(lab, [name for name in SETTINGS if any(name in (one.before, one.after) for one in wanted)])
    figures = [figure for one in wanted for figure in compared(one, played[one.before], played[one.after])]
    print("\n".join(table(figures)))
    return 0 if agree(figures) else 1


def take(lab: Lab, names: list[str]) -> dict[str, Played]:
    """Each setting on one broker, in a group of its own."""
    runtime = java.find()
    class_path = jars.fetch(runtime)
    with lab.progress.step("starting a broker"):
        port, controller_port = free_ports(2)
        stage = Stage(lab, runtime, class_path, broker.start(lab, runtime, class_path, port, controller_port))
        stage.begin()
    played = {}
    for name in names:
        with lab.progress.step(name):
            begun_ms = stage.play(name, SETTINGS[name])
            shutil.rmtree(CAPTURES / name, ignore_errors=True)
            played[name] = Played(
                generations=captured(CAPTURES / name, stage.broker.address, name),
                begun_ms=begun_ms,
            )
    return played


def compared(one: Experiment, before: Played, after: Played) -> Iterator[Compared]:
    """The figures of an experiment. LabError where nothing can be computed."""
    setting = SETTINGS[one.after]
    try:
        computed, own, left_out = _answers(before, after, setting, SETTINGS[one.before])
    except CannotPredict as why:
        raise LabError(f"{one.name}: {why}; see {CAPTURES}") from None
    waited = idle(after.script) if isinstance(setting, Connect) else IdleTime()
    for figure in _figures(setting):
        least, most = computed.range_of(figure)
        timed = figure == "idle_ms"
        yield Compared(
            experiment=one.name, figure=figure, least=least, most=most,
            measured=waited.total_ms if timed else getattr(own, figure),
            tolerance=waited.rebalancing_ms if timed else 0,
            left_out=sum(computed.left_out.values()) + left_out,
        )  # fmt: skip


def _answers(
    before: Played, after: Played, setting: Connect | Consumers, other: Connect | Consumers
) -> tuple[HistoryAnswer, HistoryFigures, int]:
    """What is computed of the history before; what is recorded of the one after, and how many of its rebalances are
    left out."""
    if isinstance(setting, Connect):
        eager = isinstance(other, Connect) and other.protocol != setting.protocol
        asked = ConnectSetting(setting.delay_ms, jars.kafka_release(), setting.protocol if eager else None)
        return _beside(
            under_setting(before.script, asked), under_setting(after.script, ConnectSetting(setting.delay_ms))
        )
    if setting.targets:
        computed = under_targets(before.script, setting.assignor, jars.kafka_release())
        return computed, of_targets(after.script), 0
    own = under_assignor(after.script, setting.assignor)
    if setting.static:
        return _beside(under_static_members(before.script).answer, own)
    return _beside(under_assignor(before.script, setting.assignor, jars.kafka_release()), own)


def _beside(computed: HistoryAnswer, own: HistoryAnswer) -> tuple[HistoryAnswer, HistoryFigures, int]:
    return computed, own.recorded, sum(own.left_out.values())


def _figures(setting: Connect | Consumers) -> tuple[str, ...]:
    if isinstance(setting, Connect):
        return ("rebalances", "moved", "stopped", "imbalanced", "idle_ms")
    return ("rebalances", "moved") if setting.static else ("rebalances", "moved", "stopped")


def _wanted(names: list[str]) -> list[Experiment]:
    for name in names:
        if name not in EXPERIMENTS:
            raise LabError(f"{name} is no experiment; there are {', '.join(EXPERIMENTS)}")
    return [EXPERIMENTS[name] for name in dict.fromkeys(names)]


if __name__ == "__main__":
    raise SystemExit(main())
