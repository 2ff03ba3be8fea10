"""A network and mounts of this process's own, in which packets are dropped and disks are filled: nobody else notices.

Linux namespaces, which need root, `ip` and `nft`. All that this process starts afterwards lives in them, and they end
with it.
"""

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.errors import LabError

_NEW_MOUNTS, _NEW_NETWORK = 0x00020000, 0x40000000  # CLONE_NEWNS and CLONE_NEWNET of clone(2)
_PROGRAMS = {"nft": "nftables", "ip": "iproute2", "mount": "mount"}
"""By program: Debian's package."""
_CHAIN = "add table inet chaos; add chain inet chaos in { type filter hook input priority 0; }"
_RESERVED = 4096
_entered = False


def missing() -> str | None:
    """Why this process cannot have them; None where it can."""
    if os.geteuid() != 0:
        return "only root may cut a network and fill a disk of its own"
    absent = [f"{name} (Debian: {package})" for name, package in _PROGRAMS.items() if shutil.which(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else None


def enter() -> None:
    """From now on; once, and before this process has another thread."""
    global _entered
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_MOUNTS | _NEW_NETWORK) != 0:
        raise LabError(f"no network of its own: {os.strerror(ctypes.get_errno())}")
    _run("mount", "--make-rprivate", "/")
    _run("ip", "link", "set", "lo", "up")
    _run("nft", _CHAIN)
    _entered = True


def entered() -> bool:
    """Whether this process has them."""
    return _entered


def cut(port: int, seconds: float) -> None:
    """No packet comes to this port or from it: who is connected hears nothing, and no connection is refused."""
    try:
        for end in ("dport", "sport"):
            _run("nft", f"add rule inet chaos in tcp {end} {port} drop")
        time.sleep(seconds)
    finally:
        _run("nft", "flush chain inet chaos in")


def on_small_disk(folder: Path, mib: int) -> None:
    """The folder, with what it holds, on a disk of its own. Nobody may have a file of it open."""
    kept = folder.with_name(f"{folder.name}-kept")
    folder.mkdir(exist_ok=True)
    _run("cp", "--archive", str(folder), str(kept))
    _run("mount", "-t", "tmpfs", "-o", f"size={mib}m", "chaos", str(folder))
    _run("cp", "--archive", f"{kept}/.", str(folder))
    shutil.rmtree(kept)


def taken_away(folder: Path) -> None:
    """The disk of `on_small_disk` is gone with all that it holds."""
    _run("umount", "--lazy", str(folder))


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Not one block is left on the disk."""
    ballast = disk / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file:
            block = bytes(1 << 20)
            while block:
                try:
                    file.write(block)
                except OSError:
                    block = block[: len(block) // 2] if len(block) > _RESERVED else b""
        yield
    finally:
        ballast.unlink(missing_ok=True)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{' '.join(command)}: {done.stderr.strip()[-200:]}")
