"""Programs written in Go: what keeps one from being built is one sentence."""

from pathlib import Path

import pytest

from lab import go, helm
from lab.errors import LabError


def test_without_go_it_says_so_and_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match=r"^helm needs Go, which is not installed$"):
        go.build("helm", tmp_path, helm.PACKAGE, tmp_path / "helm")
    with pytest.raises(LabError, match=r"^it needs Go, which is not installed; leave it out$"):
        go.build("it", tmp_path, ".", tmp_path / "it", "leave it out")


def test_what_go_itself_says_is_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_in = tmp_path / "go"
    stand_in.write_text("#!/bin/sh\necho 'main.go:1: syntax error' >&2\nexit 1\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(LabError, match=r"^it could not be built: main.go:1: syntax error$"):
        go.build("it", tmp_path, ".", tmp_path / "bin" / "it")
