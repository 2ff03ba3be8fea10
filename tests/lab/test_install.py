"""What an installation says while pip works."""

from itertools import count

import pytest

from lab.install import PROGRESS_EVERY_S, followed


def test_how_far_it_is_stands_in_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    packages = [f"Collecting p{number}==1 (from -r requirements.lock)\n" for number in range(6)]
    lines = [*packages, "Installing collected packages: p0, p1\n", "Successfully installed p0 p1\n"]
    clock = count(0, PROGRESS_EVERY_S / 4)
    assert list(followed(lines, "packages", lambda: next(clock))) == lines, "what pip says is kept for its errors"
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "install: packages: 6 packages found, unpacking"
    assert 1 < len(said) < len(lines)
