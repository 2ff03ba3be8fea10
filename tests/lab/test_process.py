"""Nothing is left behind: not after a stop, not when a program ignores SIGTERM, not when the lab itself is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.errors import LabError, Stopped
from lab.paths import ROOT
from lab.ports import free_ports, require_free
from lab.process import Lab, require_space, signals_stop
from lab.sessions import members
from tests.waiting import PATIENCE_S

# A program that starts a grandchild in a process group of its own, as Spark's Python daemon does, and ignores SIGTERM.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], process_group=0)
print("up", flush=True)
time.sleep(600)
"""


def wait_until_gone(session: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while members(session) and time.monotonic() < deadline:
        os.sched_yield()
    assert members(session) == []


def start_stubborn(lab: Lab) -> int:
    child = lab.start("stubborn", [sys.executable, "-c", STUBBORN])
    child.grace_s = 0.3
    lab.wait_for("stubborn", lambda: "up" in child.log.read_text() and len(members(child.pid)) == 2, child)
    return child.pid


def test_stop_ends_stubborn_programs_and_their_children(tmp_path: Path) -> None:
    with Lab(tmp_path) as lab:
        session = start_stubborn(lab)
    assert members(session) == []


def test_an_error_cleans_up_too(tmp_path: Path) -> None:
    sessions: list[int] = []

    def fail() -> None:
        with Lab(tmp_path) as lab:
            sessions.append(start_stubborn(lab))
            raise LabError("wrong")

    with pytest.raises(LabError, match="wrong"):
        fail()
    assert members(sessions[0]) == []


def test_sigterm_cleans_up(tmp_path: Path) -> None:
    sessions: list[int] = []

    def be_stopped() -> None:
        with signals_stop(), Lab(tmp_path) as lab:
            sessions.append(start_stubborn(lab))
            os.kill(os.getpid(), signal.SIGTERM)
            lab.wait_for("the signal", lambda: False)

    with pytest.raises(Stopped) as stopped:
        be_stopped()
    assert stopped.value.signal_number == signal.SIGTERM
    assert members(sessions[0]) == []


def test_a_killed_lab_is_cleaned_up_by_its_guardian(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from lab.process import Lab
with Lab(Path({str(tmp_path)!r})) as lab:
    child = lab.start("sleeper", [sys.executable, "-c", "import time; time.sleep(600)"])
    print(child.pid, flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as victim:
        assert victim.stdout is not None
        session = int(victim.stdout.readline())
        assert members(session)
        victim.kill()
    wait_until_gone(session)


def test_a_program_that_ends_is_named_with_its_last_words(tmp_path: Path) -> None:
    with Lab(tmp_path) as lab:
        child = lab.start("broken", [sys.executable, "-c", "print('no luck today'); raise SystemExit(3)"])
        with pytest.raises(LabError, match=r"(?s)broken ended with code 3.*no luck today"):
            lab.wait_for("broken", lambda: False, child)


def test_a_taken_port_is_one_sentence() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(LabError, match=rf"port {port} on 127.0.0.1 is taken \(.*\); choose another"):
            require_free([port], "choose another")


def test_free_ports_are_different() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    require_free(ports, "")


def test_too_little_space_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"only \d+ MB are free under"):
        require_space(tmp_path, 10**12)
