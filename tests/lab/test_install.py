"""What an installation says while pip works."""

from collections.abc import Iterator
from itertools import count

import pytest

from lab.install import PROGRESS_EVERY_S, Progress, followed, ticking

LARGE = "  Downloading https://index.example/pyspark-4.0.1.tar.gz (434.2 MB)\n"


def told(capsys: pytest.CaptureFixture[str], lines: list[str | None]) -> tuple[list[str], list[str]]:
    """What is kept of pip's lines, and what is printed; a quarter of the interval passes at each look at the clock."""
    clock = count(0, PROGRESS_EVERY_S / 4)
    kept = list(followed(lines, Progress("packages", 8), lambda: next(clock)))
    return kept, capsys.readouterr().out.splitlines()


def test_how_far_it_is_stands_in_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    packages = [f"Collecting p{number}==1 (from -r requirements.lock)\n" for number in range(6)]
    lines = [*packages, "Installing collected packages: p0, p1\n", "Successfully installed p0 p1\n"]
    kept, said = told(capsys, [*lines])
    assert kept == lines, "what pip says is kept for its errors"
    assert said[0] == "install: packages …"
    assert said[-1] == "install: packages: 6 of 8 packages, 0 MB downloaded; unpacking"
    assert 1 < len(said) < len(lines)


def test_packages_for_other_systems_do_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    """It ended with 91 of 94 packages, and a reader looked for the other three."""
    other = ["Ignoring colorama: markers 'sys_platform == \"win32\"' don't match your environment\n"] * 2
    here = [f"Collecting p{number}==1 (from -r requirements.lock)\n" for number in range(6)]
    _, said = told(capsys, [*other, *here, "Installing collected packages: p0, p1\n"])
    assert said[-1] == "install: packages: 6 of 6 packages, 0 MB downloaded; unpacking"


def test_where_nothing_is_downloaded_nothing_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    _, said = told(
        capsys, ["Obtaining file:///here\n", None, None, None, None, "Installing collected packages: here\n"]
    )
    assert said[1:] == ["install: packages: nothing to download yet", "install: packages: unpacking"]


def test_a_long_download_is_named_with_its_size_while_pip_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["Collecting a==1\n", "  Downloading a-1.whl (800 kB)\n", "Collecting pyspark==4.0.1\n", LARGE]
    kept, said = told(capsys, [*lines, *[None] * 40])
    assert kept == lines
    assert len(said) > 5
    place = "install: packages: 2 of 8 packages, 1 MB downloaded; pyspark-4.0.1.tar.gz (434.2 MB) for "
    assert all(line.startswith(place) for line in said[2:])


def test_every_line_comes_in_its_order() -> None:
    lines = [f"{number}\n" for number in range(100)]
    assert [line for line in ticking(lines) if line is not None] == lines


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_lines_that_break_off_end_the_waiting() -> None:
    """They would be waited for without an end, with nothing but progress to see."""

    def broken() -> Iterator[str]:
        yield "Collecting p0==1\n"
        raise ValueError("the pipe is gone")

    assert [line for line in ticking(broken()) if line is not None] == ["Collecting p0==1\n"]
