"""The page beside the job: a child process that is started again, ever later, when it ends by itself.

It is asked now and then whether it answers. One that is alive and says nothing writes its stacks and is ended.
"""

import logging
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import httpx

from rebalance_monitor.streaming.supervision import Answerable, PartFailed, Supervised

PAUSE_S = 1.0
ASK_EVERY_S = 10.0
ANSWER_WITHIN_S = 5.0
SILENT_TIMES = 3
STACKS_WITHIN_S = 1.0
log = logging.getLogger("rebalance_monitor.page")


class PageProcess:
    """From `start` to `stop`. It never holds the job up. `ask_every_s` is for tests."""

    def __init__(
        self,
        config: str | None,
        monitor_url: str,
        answerable: Answerable | None = None,
        ask_every_s: float = ASK_EVERY_S,
    ) -> None:
        given = [] if config is None else ["--config", config]
        command = [sys.executable, "-m", "rebalance_monitor", "serve"]
        self._command = [*command, *given, "--monitor-url", monitor_url, "--child"]
        self._ending = threading.Event()
        self.process: subprocess.Popen[str] | None = None
        self._url: str | None = None
        self._silent = 0
        self._anew = False
        self._ask_every_s = ask_every_s
        # Its connections are not kept, as the page may be anew. Any certificate will do: the question is whether it
        # answers, and a page whose certificate has expired must not be ended for that.
        self._client = httpx.Client(
            timeout=ANSWER_WITHIN_S, trust_env=False, verify=False, limits=httpx.Limits(max_keepalive_connections=0)
        )
        self._keeper = Supervised("page", self._life, answerable, stop=self._ending, first_pause_s=PAUSE_S)
        self._asker = Supervised("page's state", self._ask, answerable, stop=self._ending)

    def start(self) -> None:
        self._keeper.start()
        self._asker.start()

    def stop(self) -> None:
        """Ends it: its stdin closes, which also happens when this process is killed."""
        self._ending.set()
        self._end()
        self._keeper.stop(10)
        self._asker.stop(10)
        self._client.close()

    def begin_anew(self) -> None:
        """The configuration has changed: ends it, and another one is started at once."""
        self._anew = self.process is not None and self.process.poll() is None
        self._end()

    def _end(self) -> None:
        process = self.process
        if process is not None and process.stdin is not None:
            process.stdin.close()

    def _life(self) -> float:
        # A session of its own: a signal from the terminal is the job's to answer.
        with subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            self.process, self._silent = process, 0
            if self._ending.is_set() and process.stdin is not None:
                process.stdin.close()  # `stop` may have looked for it a moment too soon
            last = ""
            for line in process.stderr or ():
                last = line.strip()
                if last.startswith("page at "):
                    self._url = last.removeprefix("page at ")
                    log.info("page", extra={"fields": {"url": self._url}})
                    self._keeper.well()
                elif not last.startswith("rebalance-monitor: "):
                    log.warning("page says", extra={"fields": {"text": last}})
            self._url = None
        if self._ending.is_set() or self._anew:
            self._anew = False
            return 0.0
        why, pause_s = last.removeprefix("rebalance-monitor: "), self._keeper.pause_s
        log.warning("page ended", extra={"fields": {"code": process.returncode, "why": why, "again_in_s": pause_s}})
        raise PartFailed(f"the page ended with code {process.returncode} ({why})")

    def _ask(self) -> float:
        """Whether it answers; one that does not, several times in a row, is ended and so started again."""
        url, process = self._url, self.process
        if url is None or process is None or process.poll() is not None:
            self._silent = 0
            return self._ask_every_s
        try:
            self._client.get(f"{url.rstrip('/')}/healthz")
            self._silent = 0
        except httpx.HTTPError as why:
            self._silent += 1
            if self._silent >= SILENT_TIMES:
                fields = {"url": url, "asked": self._silent, "why": type(why).__name__}
                log.error("page hangs", extra={"fields": fields})
                with suppress(OSError):
                    # Its stacks come as lines that it says; one that was stopped is woken for them.
                    process.send_signal(signal.SIGUSR1)
                    process.send_signal(signal.SIGCONT)
                    self._ending.wait(STACKS_WITHIN_S)
                    process.kill()
        return self._ask_every_s
