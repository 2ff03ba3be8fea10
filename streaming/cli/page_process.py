"""The page beside the job: a child process that is started again, ever later, when it ends by itself."""

import logging
import subprocess
import sys
import threading

PAUSES_S = (1.0, 5.0, 30.0)
log = logging.getLogger("rebalance_monitor.page")


class PageProcess:
    """From `start` to `stop`. It never holds the job up."""

    def __init__(self, config: str | None, monitor_url: str) -> None:
        given = [] if config is None else ["--config", config]
        self._command = [sys.executable, "-m", "streaming", "serve", *given, "--monitor-url", monitor_url, "--child"]
        self._ending = threading.Event()
        self.process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._keep, name="page", daemon=True)

    def start(self) -> None:
        """Starts it and returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Ends it: its stdin closes, which also happens when this process is killed."""
        self._ending.set()
        process = self.process
        if process is not None and process.stdin is not None:
            process.stdin.close()
        if self._thread.is_alive():
            self._thread.join(10)

    def _keep(self) -> None:
        tries = 0
        while not self._ending.is_set():
            # A session of its own: a signal from the terminal is the job's to answer.
            with subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
            ) as process:
                self.process = process
                if self._ending.is_set() and process.stdin is not None:
                    process.stdin.close()  # `stop` may have looked for it a moment too soon
                last = ""
                for line in process.stderr or ():
                    last = line.strip()
                    if last.startswith("page at "):
                        tries = 0
                        log.info("page", extra={"fields": {"url": last.removeprefix("page at ")}})
                    elif not last.startswith("rebalance-monitor: "):
                        log.warning("page says", extra={"fields": {"text": last}})
            if self._ending.is_set():
                return
            pause = PAUSES_S[min(tries, len(PAUSES_S) - 1)]
            why = last.removeprefix("rebalance-monitor: ")
            log.warning("page ended", extra={"fields": {"code": process.returncode, "why": why, "again_in_s": pause}})
            tries += 1
            self._ending.wait(pause)
