"""Folders of runs that were killed are removed by the next start, those of living ones never."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rebalance_monitor.streaming.spark.scratch import full, remove_orphans, scratch_folder

RUN = """
import sys, time
from rebalance_monitor.streaming.spark.scratch import scratch_folder
with scratch_folder(sys.argv[1]) as made:
    (made / "something").write_text("kept")
    print(made, flush=True)
    time.sleep(600)
"""


def test_what_a_killed_run_left_goes_and_what_a_living_one_has_stays(tmp_path: Path) -> None:
    runs = [
        subprocess.Popen([sys.executable, "-c", RUN, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        folders = [Path(one.stdout.readline().strip()) for one in runs if one.stdout is not None]
        runs[0].send_signal(signal.SIGKILL)
        runs[0].wait()
        (tmp_path / "rebalance-monitor-unlocked").mkdir()
        assert remove_orphans(tmp_path) == [folders[0].name]
        assert sorted(one.name for one in tmp_path.iterdir()) == sorted([folders[1].name, "rebalance-monitor-unlocked"])
        with scratch_folder(str(tmp_path)) as own:
            assert remove_orphans(tmp_path) == [], "not its own"
            assert (folders[1] / "something").read_text() == "kept"
        assert not own.exists()
    finally:
        for run in runs:
            run.kill()
            run.wait()
            assert run.stdout is not None
            run.stdout.close()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "owner.lock").touch()
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "rebalance-monitor-x").symlink_to(outside, target_is_directory=True)
    assert remove_orphans(inside) == []
    assert outside.exists()


def test_a_full_or_missing_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert full(tmp_path) is None
    assert full(tmp_path / "gone") == f"can't write to {tmp_path / 'gone'} (No such file or directory)"
    there = os.statvfs(tmp_path)
    values = [*there[:4], 10, *there[5:]]
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(values))
    assert full(tmp_path) == f"can't write to {tmp_path} (No space left on device)"
