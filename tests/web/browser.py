"""A real Chromium, told what to do over its debugging pipe: JSON objects, each ended by a zero byte."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE_S

BINARY = "chromium"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip
# Puts the pipes where the browser looks for them: 3 to read, 4 to write.
PLACE = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


LEFT = "Inspected target navigated"


class Navigated(Exception):
    """The page went elsewhere before it had answered."""


class Tab:
    """One page in the browser."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._number, self._rest = 0, b""
        self._session: str | None = None
        self.said: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def look(self, url: str, width: int = 1200, height: int = 1000, *, dark: bool = False) -> None:
        """Opens the address in a window of this size and colour scheme."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self.run("window.before = true")
        self._call("Page.navigate", url=url)
        self.wait(f"!window.before && location.href === {json.dumps(url)} && document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """The script's value in the page."""
        told = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until the condition holds in the page."""
        end = time.monotonic() + PATIENCE_S
        while not self._holds(condition):
            assert time.monotonic() < end, f"never true: {condition}; the page said {self.said}"
            select.select([], [], [], 0.05)

    def _holds(self, condition: str) -> bool:
        try:
            return bool(self.run(condition))
        except Navigated:  # the page that was asked is gone; the next one answers
            return False

    def press(self, key: str) -> None:
        """One key, such as Tab or Enter, as from a keyboard."""
        more = {"text": "\r", "windowsVirtualKeyCode": 13} if key == "Enter" else {"windowsVirtualKeyCode": 9}
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, **more)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)

    def above_the_fold(self, path: Path) -> None:
        """A screenshot of what the window shows, written to `path`."""
        data = base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])
        path.write_bytes(data)

    def picture(self, path: Path) -> bytes:
        """A screenshot of the whole page, written to `path` too."""
        shot = self._call("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        content = base64.b64decode(shot["data"])
        path.write_bytes(content)
        return content

    def _call(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                if LEFT in told.get("error", {}).get("message", ""):
                    raise Navigated
                assert "error" not in told, told
                return told["result"]
            if told.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
                self.said.append(json.dumps(told["params"]))

    def _next(self) -> Any:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], PATIENCE_S)
            assert ready, "the browser says nothing"
            more = os.read(self._read, 1 << 20)
            assert more, "the browser has ended"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        return json.loads(line)


@contextmanager
def browser() -> Iterator[Tab]:
    """A browser with an empty profile of its own, ended with the block."""
    profile = tempfile.mkdtemp(prefix="rm-browser-")
    told_read, told_write = os.pipe()
    asked_read, asked_write = os.pipe()
    command = [sys.executable, "-c", PLACE, str(asked_read), str(told_write), BINARY, *FLAGS]
    command += [f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, pass_fds=(asked_read, told_write), stderr=subprocess.DEVNULL)
    os.close(asked_read)
    os.close(told_write)
    try:
        yield Tab(told_read, asked_write)
    finally:
        # It ends when its pipe closes.
        os.close(asked_write)
        os.close(told_read)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(profile, ignore_errors=True)
