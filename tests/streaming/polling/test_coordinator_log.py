"""Files that are followed: nothing is lost and nothing read twice, whatever happens to them."""

import os
import uuid
from pathlib import Path

import pytest

from rebalance_monitor.streaming.polling import coordinator_log
from rebalance_monitor.streaming.polling.coordinator_log import CoordinatorLogFollower
from rebalance_monitor.streaming.polling.log_files import unreadable
from rebalance_monitor.streaming.supervision import PartFailed
from tests.streaming.polling.kept_reasons import Kept, line


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


def follower(log: Path, kept: Kept) -> CoordinatorLogFollower:
    return CoordinatorLogFollower("c", [f"{log}*"], kept, 1)


def more(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


def test_a_file_is_read_on_and_a_line_only_when_it_is_whole(log: Path, kept: Kept) -> None:
    follows = follower(log, kept)
    more(log, line(1) + "other\n" + line(2)[:40])
    assert follows.step() == coordinator_log.LOOK_EVERY_S
    assert kept.numbers == [1]
    more(log, line(2)[40:])
    follows.step()
    follows.step()
    assert kept.numbers == [1, 2]


def test_a_renamed_file_is_read_on_and_the_new_one_from_its_beginning(log: Path, kept: Kept) -> None:
    follows = follower(log, kept)
    more(log, line(1))
    follows.step()
    more(log, line(2))
    log.rename(f"{log}.2026-11-27-06")
    more(log, line(3))
    follows.step()
    assert sorted(kept.numbers) == [1, 2, 3]
    Path(f"{log}.2026-11-27-06").unlink()
    follows.step()
    assert len(kept.places) == 1


def test_a_file_that_is_cut_is_read_from_its_beginning(log: Path, kept: Kept) -> None:
    follows = follower(log, kept)
    more(log, line(1) + line(2))
    follows.step()
    log.write_text(line(3))
    follows.step()
    more(log, line(4))
    os.truncate(log, len(line(3)))
    more(log, line(5))
    follows.step()
    assert kept.numbers == [1, 2, 3, 5]


def test_a_job_that_starts_again_reads_on(log: Path, kept: Kept) -> None:
    more(log, line(1))
    follower(log, kept).step()
    more(log, line(2))
    follower(log, kept).step()
    assert kept.numbers == [1, 2]


def test_a_reason_that_stood_before_the_position_is_known_after_a_start(log: Path, kept: Kept) -> None:
    member = f"m-{uuid.UUID(int=9)}"
    broker = "INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=1] "
    left = f"[Group g] Member {member} has left group through explicit `LeaveGroup` request; client reason: b"
    more(log, f"{broker}{left}\n")
    follower(log, kept).step()
    begins = f"{broker}Preparing to rebalance group g in state PreparingRebalance with old generation 4"
    more(log, f"{begins} (reason: explicit `LeaveGroup` request for ({member}) members.).\n")
    follower(log, kept).step()
    assert [one.client_reason for one in kept.reasons] == ["b"]


def test_a_step_reads_so_much_and_the_next_one_follows_at_once(
    log: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator_log, "STEP_BYTES", 1_000)
    monkeypatch.setattr(coordinator_log, "LONGEST_LINE_BYTES", 1_000)
    more(log, "first\n" + "x" * 5_000 + "\n" + line(1) + line(2))
    follows = follower(log, kept)
    steps = [follows.step() for _ in range(12)]
    assert steps[0] == 0.0
    assert steps[-1] == coordinator_log.LOOK_EVERY_S
    assert kept.numbers == [1, 2]


def test_files_that_cannot_be_read_are_said_and_the_others_are_read(log: Path, kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "server.log.old").symlink_to("nowhere")
    Path(f"{log}.1.gz").write_bytes(b"\x1f\x8b")
    more(log, line(1))
    with pytest.raises(PartFailed, match=r"server.log.old cannot be read \(No such file or directory\)$"):
        follower(log, kept).step()
    assert kept.numbers == [1]
    assert unreadable([f"{log}*", "/nowhere/*.log", "/nowhere/x"]) == [
        "no file matches /nowhere/*.log",
        "/nowhere/x cannot be read (No such file or directory)",
        f"{tmp_path}/server.log.old cannot be read (No such file or directory)",
    ]


def test_a_pattern_without_a_file_is_said(kept: Kept, tmp_path: Path) -> None:
    with pytest.raises(PartFailed, match=r"^no file matches .*/broker\*$"):
        CoordinatorLogFollower("c", [f"{tmp_path}/broker*"], kept, 1).step()


def test_it_ends_where_another_job_is_the_writer(log: Path, kept: Kept) -> None:
    more(log, line(1))
    kept.deposed = True
    assert follower(log, kept).step() is None


def test_a_line_is_not_cut_where_a_step_ends_and_the_rest_of_a_long_one_is_no_line(
    log: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator_log, "STEP_BYTES", 4_000)
    monkeypatch.setattr(coordinator_log, "LONGEST_LINE_BYTES", 1_000)
    more(log, "a\n" + "".join(f"{number:036}: {'x' * 61}\n" for number in range(79)))
    for number in range(1, 6):
        more(Path(f"{log}.{number}"), "".join(line(10 * number + one) for one in range(9)))
    more(Path(f"{log}.6"), "b\n" + "x" * 4_000 + line(8) + line(9))
    follows = follower(log, kept)
    assert [follows.step() for _ in range(12)][-1] == coordinator_log.LOOK_EVERY_S
    assert kept.numbers == [10 * number + one for number in range(1, 6) for one in range(9)] + [9]


def test_files_whose_folder_is_away_for_a_while_are_read_on(kept: Kept, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    follows = CoordinatorLogFollower("c", [f"{folder}/*.log" for folder in folders], kept, 1)
    for number, folder in enumerate(folders):
        folder.mkdir()
        more(folder / "server.log", line(number))
    follows.step()
    away = [folder.rename(f"{folder}.away") for folder in folders]
    with pytest.raises(PartFailed, match=r"^no file matches"):
        follows.step()
    away[0].rename(folders[0])
    follows.step()
    away[1].rename(folders[1])
    follows.step()
    assert kept.numbers == [0, 1]


def test_files_of_two_volumes_with_one_inode_and_one_first_line_are_two(
    log: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test has one volume only, so what the system says of the files is made up."""
    other = log.with_name("server.log.other")
    more(log, "first\n" + line(1))
    more(other, "first\n" + line(2) + line(3))

    def on_volumes(number: int) -> os.stat_result:
        mode, inode, _device, *rest = os.stat(number)
        return os.stat_result([mode, 7, inode, *rest])

    monkeypatch.setattr(coordinator_log, "fstat", on_volumes)
    follower(log, kept).step()
    assert kept.numbers == [1, 2, 3]


def test_only_files_are_opened_for_a_pipe_would_never_answer(log: Path, kept: Kept) -> None:
    more(log, line(1))
    pipe = Path(f"{log}.pipe")
    os.mkfifo(pipe)
    assert unreadable([f"{log}*", str(pipe), str(log.parent)]) == [
        f"no file matches {pipe}",
        f"no file matches {log.parent}",
    ]
    follower(log, kept).step()
    assert kept.numbers == [1]
    with pytest.raises(PartFailed, match=r"^no file matches .*/server\.log\.pipe\*$"):
        follower(pipe, kept).step()
