"""The folder for what a run need not keep: Spark's checkpoint, its local files, the reader's channel.

A run that is killed leaves its folder behind, so each start removes those whose owner is dead. The owner holds a lock
on a file in its folder as long as it lives, which no process can outlive and no other one can take over.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .failures import no_room

PREFIX = "rebalance-monitor-"
OWNER = "owner.lock"
LITTLE_BYTES = 4_000_000
"""What a run writes between two looks fits into this."""


@contextmanager
def scratch_folder(configured: str | None) -> Iterator[Path]:
    """A private folder for this run, gone at its end: nothing in it is needed again. Raises CannotRun."""
    try:
        if configured is not None:
            Path(configured).mkdir(parents=True, exist_ok=True)
        remove_orphans(Path(configured or tempfile.gettempdir()))
        made = Path(tempfile.mkdtemp(prefix=PREFIX, dir=configured))
        lock = _owned(made)
    except OSError as why:
        raise no_room(configured or "the temporary folder", why) from why
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(lock)


def remove_orphans(parent: Path) -> list[str]:
    """Removes the folders of runs that are dead; returns their names. One without a lock is nobody's to judge."""
    removed = []
    for folder in sorted(parent.glob(f"{PREFIX}*")):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder / OWNER, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
                removed.append(folder.name)
            finally:
                os.close(lock)
    return removed


def full(folder: Path) -> str | None:
    """Why nothing can be written there any more; None while there is room."""
    try:
        there = os.statvfs(folder)
    except OSError as why:
        return f"can't write to {folder} ({why.strerror})"
    if there.f_bavail * there.f_frsize < LITTLE_BYTES:
        return f"can't write to {folder} (No space left on device)"
    if there.f_files and not there.f_favail:
        return f"can't write to {folder} (No file can be added any more)"
    return None


def _owned(folder: Path) -> int:
    """Lock the folder for this process. The lock is held before its file has its name: nobody sees it open."""
    lock = os.open(folder / f"{OWNER}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(folder / f"{OWNER}.new", folder / OWNER)
    return lock
