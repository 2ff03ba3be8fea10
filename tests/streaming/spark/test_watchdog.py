"""A process that hangs writes its stacks and is ended; one whose number belongs to somebody else by now is not."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rebalance_monitor.streaming.spark import stacks
from rebalance_monitor.streaming.spark.watchdog import (
    FIRST_WORD_S,
    PAUSED_S,
    READER,
    READING_S,
    SILENT_S,
    TASK,
    Hangs,
    Watchdog,
)
from tests.waiting import PATIENCE_S

HANGING = """
import sys, time
from pathlib import Path
from rebalance_monitor.streaming.spark import stacks
def hanging_here():
    print("ready", flush=True)
    time.sleep(600)
stacks.offer(Path(sys.argv[1]), sys.argv[2])
hanging_here()
"""


@pytest.fixture
def hanging(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", HANGING, str(tmp_path), request.param]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


@pytest.mark.parametrize("hanging", [READER], indirect=True)
@pytest.mark.parametrize("stopped", [False, True])
def test_a_silent_reader_is_ended_with_its_stacks_in_the_log(
    hanging: "subprocess.Popen[str]", stopped: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watchdog = Watchdog("c", tmp_path, 10_000, 0.0)
    watchdog.reported(5_000, 1.0)
    watchdog.look(1.0 + SILENT_S)
    if stopped:
        hanging.send_signal(signal.SIGSTOP)
    with caplog.at_level(logging.ERROR, "rebalance_monitor.job"), pytest.raises(Hangs, match="said nothing for 31 s"):
        watchdog.look(2.0 + SILENT_S)
    (record,) = caplog.records
    fields = vars(record)["fields"]
    assert (fields["part"], fields["pid"]) == (READER, hanging.pid)
    assert any("hanging_here" in line for line in fields["stacks"])
    assert hanging.wait(PATIENCE_S) == -signal.SIGKILL


@pytest.mark.parametrize("hanging", [TASK], indirect=True)
def test_a_batch_that_is_never_read_ends_its_task(hanging: "subprocess.Popen[str]", tmp_path: Path) -> None:
    watchdog = Watchdog("c", tmp_path, 10_000, 0.0)
    watchdog.reading(1.0)
    watchdog.reported(1, 11.0 + READING_S)
    watchdog.look(11.0 + READING_S)
    with pytest.raises(Hangs) as hangs:
        watchdog.look(12.0 + READING_S)
    assert hangs.value.name == TASK
    assert hanging.wait(PATIENCE_S) == -signal.SIGKILL


def test_a_job_that_was_frozen_itself_blames_no_process(tmp_path: Path) -> None:
    watchdog = Watchdog("c", tmp_path, 10_000, 0.0)
    watchdog.reported(5_000, 1.0)
    watchdog.reading(1.5)
    watchdog.look(2.0)
    again_s = 2.0 + max(PAUSED_S, SILENT_S, READING_S) + 600
    for later_s in range(int(SILENT_S)):
        watchdog.look(again_s + later_s)
    with pytest.raises(Hangs, match="the reader has said nothing"):
        watchdog.look(again_s + SILENT_S)


def test_a_reader_that_only_starts_has_more_time(tmp_path: Path) -> None:
    watchdog = Watchdog("c", tmp_path, 10_000, 0.0)
    watchdog.reported(0, 50.0)
    watchdog.look(FIRST_WORD_S)
    with pytest.raises(Hangs):
        watchdog.look(FIRST_WORD_S + 1)


def test_a_number_that_belongs_to_somebody_else_by_now_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / f"{READER}-{os.getpid()}.stacks").touch()
    assert stacks.offering(tmp_path, READER) == []
    stacks.end(tmp_path, READER, os.getpid())


FOLDS_FOR_EVER = """
import sys, time
from pathlib import Path
from rebalance_monitor.streaming.spark.watchdog import folding
def folding_here():
    time.sleep(600)
with folding(Path(sys.argv[1]), 0.2):
    folding_here()
"""


def test_a_fold_that_does_not_go_on_ends_its_own_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FOLDS_FOR_EVER, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 1
    assert "folding_here" in done.stderr
