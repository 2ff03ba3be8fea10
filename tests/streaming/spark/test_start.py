"""The first question to a cluster, before Spark starts: a signal need not wait for its answer."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.spark.ends import KafkaView
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[3]
JOB = """
import json, signal, sys
from contextlib import nullcontext
from types import SimpleNamespace
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.spark.failures import CannotRun
from rebalance_monitor.streaming.spark.clusters import run_job

# As at a terminal: what a shell starts in the background begins with this signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    observer = SimpleNamespace(trouble=lambda cluster, problem: None, watch=lambda cluster: None)
    leases = SimpleNamespace(want=lambda cluster: None, epoch=lambda cluster: None, give_up=lambda: None)
    settings = Settings.model_validate(json.loads(sys.argv[1]))
    serve = lambda cluster: nullcontext(None)
    run_job(settings, SimpleNamespace(leases=leases, serve=serve, observer=observer))
except KeyboardInterrupt:
    sys.exit("interrupted")
except CannotRun as why:
    sys.exit(str(why))
"""


def test_control_c_ends_the_wait_for_a_broker_that_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as broker:
        address = f"127.0.0.1:{broker.getsockname()[1]}"
        settings = json.dumps({"clusters": [{"name": "a", "bootstrap_servers": address}]})
        job = subprocess.Popen([sys.executable, "-c", JOB, settings], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        broker.settimeout(60)
        asked, _ = broker.accept()
        with asked:
            job.send_signal(signal.SIGINT)
            _, said = job.communicate(timeout=PATIENCE_S)

    assert job.returncode == 0, said  # as at any graceful stop: the question under way ends, and no other is asked
    assert "Traceback" not in said


def test_control_c_inside_the_client_is_control_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's C code turns what a signal raised inside it into a SystemError; no test can hit that moment."""

    def interrupted(**_: Any) -> None:
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    view = KafkaView({"bootstrap.servers": "127.0.0.1:1"})
    monkeypatch.setattr(view._admin, "describe_cluster", interrupted)
    with pytest.raises(KeyboardInterrupt):
        view.cluster_id()
