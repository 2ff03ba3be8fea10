"""The page as the job's child: it starts with it, comes back when it ends, and never outlives it. And `serve` alone."""

import logging
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import httpx
import pytest
import yaml

from lab.asking import local
from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.page_process import PageProcess
from rebalance_monitor.streaming.config.certificates import Certificate
from rebalance_monitor.streaming.config.sections import TlsSection
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from tests.certificates import Authority
from tests.waiting import PATIENCE_S

DSN = "postgresql://nobody:word@127.0.0.1:1/x"


def config(folder: Path, **page: object) -> str:
    path = folder / "monitor.yaml"
    path.write_text(yaml.safe_dump({"database": {"dsn": DSN}, "page": {"port": 0, **page}}), encoding="utf-8")
    return str(path)


class Told(logging.Handler):
    """What the job's log would say."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: Queue[tuple[str, dict[str, object]]] = Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.put((record.getMessage(), getattr(record, "fields", {})))


@pytest.fixture
def told() -> Iterator[Told]:
    log, handler = logging.getLogger("rebalance_monitor.page"), Told()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield handler
    log.removeHandler(handler)
    log.setLevel(level)


def test_a_child_begins_anew_with_another_configuration_and_nothing_failed(tmp_path: Path, told: Told) -> None:
    page = PageProcess(config(tmp_path), "http://127.0.0.1:1")
    page.start()
    try:
        first = told.lines.get(timeout=PATIENCE_S)
        before = page.process
        page.begin_anew()
        second = told.lines.get(timeout=PATIENCE_S)
        assert [first[0], second[0]] == ["page", "page"], "the log says that it listens, and no end"
        assert page.process is not before
    finally:
        page.stop()


def test_a_child_that_ends_is_started_again_and_ends_with_the_job(tmp_path: Path, told: Told) -> None:
    page = PageProcess(config(tmp_path), "http://127.0.0.1:1")
    page.start()
    try:
        event, fields = told.lines.get(timeout=PATIENCE_S)
        assert event == "page"
        assert local().get(f"{fields['url']}healthz", timeout=PATIENCE_S).text == "ok\n"
        assert page.process is not None
        os.kill(page.process.pid, signal.SIGKILL)
        event, fields = told.lines.get(timeout=PATIENCE_S)
        assert (event, fields["code"], fields["again_in_s"]) == ("page ended", -9, 1.0)
        event, fields = told.lines.get(timeout=PATIENCE_S)
        assert event == "page"
    finally:
        page.stop()
    assert page.process.poll() == 0
    with pytest.raises(httpx.ConnectError):
        local().get(f"{fields['url']}healthz", timeout=PATIENCE_S)
    assert told.lines.empty()


def test_it_speaks_tls_and_follows_its_certificate(tmp_path: Path, told: Told) -> None:
    authority = Authority.made()
    first, second = authority.issue("first"), authority.issue("second")
    files = first.files(tmp_path / "tls")
    trusting = ssl.create_default_context(cafile=authority.file(tmp_path))
    page = PageProcess(config(tmp_path, tls=files), "http://127.0.0.1:1", ask_every_s=0.05)
    page.start()
    try:
        event, fields = told.lines.get(timeout=PATIENCE_S)
        assert event == "page"
        url = str(fields["url"])
        assert url.startswith("https://")
        with httpx.Client(verify=trusting, trust_env=False) as client:
            assert client.get(f"{url}healthz").text == "ok\n"
            answer = client.get(f"{url}api/v1/groups")
            assert (answer.status_code, "can't be used" in answer.json()["error"]) == (503, True)
        second.files(tmp_path / "tls")
        event, fields = told.lines.get(timeout=PATIENCE_S)
        sentence = "page.tls: the files have changed, and their certificate is in use"
        assert (event, fields) == ("page says", {"text": sentence})
    finally:
        page.stop()


def test_it_asks_a_job_that_speaks_tls_and_trusts_its_file(tmp_path: Path, told: Told) -> None:
    files = Authority.made().issue("job").files(tmp_path / "tls")
    tls = TlsSection.model_validate(files)
    job = Exporter(0, clusters=["a"], tls=Certificate("http.tls", tls, lambda problem: None).context)
    job.start()
    path = config(tmp_path)
    Path(path).write_text(f"{Path(path).read_text()}http: {{tls: {files}}}\n")
    page = PageProcess(path, job.url)
    page.start()
    try:
        _, fields = told.lines.get(timeout=PATIENCE_S)
        assert "rebalance_monitor_ready" in local().get(f"{fields['url']}metrics", timeout=PATIENCE_S).text
    finally:
        page.stop()
        job.stop()


def test_a_taken_port_is_one_sentence_and_no_end_of_the_job(tmp_path: Path, told: Told) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        page = PageProcess(config(tmp_path, port=port), "http://127.0.0.1:1")
        page.start()
        try:
            event, fields = told.lines.get(timeout=PATIENCE_S)
        finally:
            page.stop()
    assert (event, fields["code"]) == ("page ended", 2)
    sentence = "(Address already in use); set page.host and page.port to a free address"
    assert fields["why"] == f"can't listen on 127.0.0.1:{port} {sentence}"


def test_a_killed_job_takes_its_page_along(tmp_path: Path) -> None:
    code = (
        "import logging, sys, time; from rebalance_monitor.streaming.cli.page_process import PageProcess\n"
        "logging.basicConfig(level='INFO', stream=sys.stdout, format='%(message)s %(fields)s')\n"
        "PageProcess(sys.argv[1], 'http://127.0.0.1:1').start()\n"
        "time.sleep(600)"
    )
    command = [sys.executable, "-u", "-c", code, config(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        url = job.stdout.readline().split("'")[3]
        with httpx.stream("GET", f"{url}static/monitor.css") as before:
            assert before.status_code == 200
        with socket.create_connection(("127.0.0.1", int(url.rstrip("/").rpartition(":")[2]))) as connection:
            job.kill()
            connection.settimeout(PATIENCE_S)
            # The page closes its connections when it ends.
            assert connection.recv(1) == b""


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({}, "database.dsn is missing; give a PostgreSQL connection text"),
        ({"database": {"dsn": "nonsense"}}, "database.dsn is not a PostgreSQL connection text"),
        ({"database": {"dsn": DSN}, "page": {"host": "192.0.2.1", "port": 0}}, "can't listen on 192.0.2.1:0"),
        ({"page": {"tokens": [{"name": "a", "token": "short-word"}]}}, "a token needs at least 16 characters"),
    ],
)
def test_what_a_user_can_mend_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], told: dict[str, object], sentence: str
) -> None:
    path = tmp_path / "monitor.yaml"
    path.write_text(yaml.safe_dump(told), encoding="utf-8")
    assert main(["serve", "--config", str(path)]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert "word" not in said.replace("password", "")


def test_a_signal_ends_it_with_0(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rebalance_monitor", "serve", "--config", config(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as page:
        assert page.stderr is not None
        url = page.stderr.readline().split()[-1]
        answer = local().get(url, timeout=PATIENCE_S)
        assert answer.status_code == 503
        assert "<h1>PostgreSQL at 127.0.0.1:1/x can&#39;t be used" in answer.text
        page.send_signal(signal.SIGINT)
        assert page.wait(PATIENCE_S) == 0
        assert page.stderr.read() == ""
