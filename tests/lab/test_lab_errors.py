"""How a program of the lab ends: with one sentence."""

import signal

import pytest

from lab.errors import LabError, Stopped, says_why


def test_a_signal_is_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    @says_why("program")
    def main() -> int:
        raise Stopped(signal.SIGINT)

    assert main() == 130
    assert capsys.readouterr().err == "program: stopped; nothing was left running\n"


def test_an_error_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    @says_why("program")
    def main() -> int:
        raise LabError("no broker here; start one")

    assert main() == 2
    assert capsys.readouterr().err == "program: no broker here; start one\n"
