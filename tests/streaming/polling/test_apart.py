"""The process that asks for offsets: it may end at any time, and takes nobody along."""

import os
import signal
import subprocess
import sys
from contextlib import closing

import pytest

from rebalance_monitor.streaming.polling.apart import OffsetsApart
from rebalance_monitor.streaming.supervision import PartFailed
from tests.waiting import until

NOBODY = {"bootstrap.servers": "127.0.0.1:1"}
JOB = """
import sys
from rebalance_monitor.streaming.polling.apart import OffsetsApart
asked = OffsetsApart({"bootstrap.servers": "127.0.0.1:1"})
asked._running()
print(asked._child.pid, flush=True)
sys.stdin.read()
"""


def test_what_fails_in_it_is_what_the_poller_states() -> None:
    with closing(OffsetsApart(NOBODY)) as asked, pytest.raises(PartFailed, match="did not say what g has committed"):
        asked.committed("g")


def test_one_that_was_aborted_is_replaced() -> None:
    with closing(OffsetsApart(NOBODY)) as asked:
        asked._running()
        first = asked._child
        assert first is not None
        os.kill(first.pid, signal.SIGABRT)
        first.wait()
        with pytest.raises(PartFailed, match="gave no answer; another one is started"):
            asked.committed("g")
        with pytest.raises(PartFailed, match="did not say what g has committed"):
            asked.committed("g")


def test_after_its_end_nobody_starts_another_one() -> None:
    asked = OffsetsApart(NOBODY)
    asked._running()
    child = asked._child
    assert child is not None
    asked.close()
    assert child.returncode == -signal.SIGKILL
    with pytest.raises(PartFailed):
        asked.committed("g")
    assert asked._child is None


def test_no_other_user_of_the_machine_reads_the_clients_password() -> None:
    with closing(OffsetsApart({**NOBODY, "sasl.password": "planted"})) as asked:
        asked._running()
        assert asked._child is not None
        for name in ("cmdline", "environ"):
            with open(f"/proc/{asked._child.pid}/{name}", "rb") as told:
                assert b"planted" not in told.read()


def test_it_ends_with_the_job_however_that_ends() -> None:
    job = subprocess.Popen([sys.executable, "-c", JOB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert job.stdout is not None
    pid = int(job.stdout.readline())
    job.kill()
    job.communicate()

    def gone() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"

    until(gone)
