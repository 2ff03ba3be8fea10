"""The bill of materials names all that the image's lock installs, and the audit sees what is not as locked."""

import contextlib
import io
import json
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest

from lab.paths import ROOT
from lab.ports import HOST
from lab.supply import audit, sbom

RUN_LOCK = ROOT / "requirements-run.lock"
HASH = "ab" * 32
ONE = f"one==1.2 \\\n    --hash=sha256:{HASH}\n"


@pytest.fixture(scope="module")
def written() -> str:
    """The bill of the packages that are installed here, of which those of the image are a part."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert sbom.main([str(RUN_LOCK)]) == 0
    return out.getvalue()


def test_each_package_of_the_lock_is_named_with_its_version_and_hashes(written: str) -> None:
    bom = json.loads(written)
    named = {component.get("purl"): component for component in bom["components"]}
    lock = sbom.locked(RUN_LOCK.read_text(encoding="utf-8"))
    here = sbom.versions_of(distributions())
    # A marker chooses one of two entries, or leaves out what only another system needs.
    chosen = [entry for entry in lock if not entry.has_marker or here.get(entry.name) == entry.version]
    assert len(chosen) >= len({entry.name for entry in lock}) - 1
    for entry in chosen:
        (reference,) = named[f"pkg:pypi/{entry.name}@{entry.version}"]["externalReferences"]
        assert tuple(one["content"] for one in reference["hashes"]) == entry.sha256
    assert "://" not in written
    assert str(Path(sys.prefix)) not in written


def test_sparks_jars_are_named_with_their_own_hash(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    jars = [one for one in json.loads(written)["components"] if "hashes" in one]
    assert any(one.get("purl", "").startswith("pkg:maven/org.apache.spark/spark-sql_2.13@") for one in jars)
    assert all(len(one["hashes"][0]["content"]) == 64 for one in jars)
    assert sbom.main([str(RUN_LOCK)]) == 0
    assert capsys.readouterr().out == written, "the same files, the same bill"


def jar(folder: Path, name: str, *projects: str) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as content:
        for group, artifact, version in (project.split(":") for project in projects):
            noted = f"#Built\nversion={version}\ngroupId={group}\nartifactId={artifact}\n"
            content.writestr(f"META-INF/maven/{group}/{artifact}/pom.properties", noted)
    return path


def test_a_jar_is_named_by_its_coordinates_and_holds_what_it_bundles(tmp_path: Path) -> None:
    told = sbom.jar_component(jar(tmp_path, "own-1.0-linux.jar", "org.other:bundled:2.1", "org.own:own:1.0"))
    assert told["purl"] == "pkg:maven/org.own/own@1.0"
    assert [one["purl"] for one in told["components"]] == ["pkg:maven/org.other/bundled@2.1"]


@pytest.mark.parametrize(("file", "name", "version"), [("a_2.13-4.5.jar", "a_2.13", "4.5"), ("plain.jar", "plain", "")])
def test_a_jar_without_coordinates_is_named_by_its_file(tmp_path: Path, file: str, name: str, version: str) -> None:
    told = sbom.jar_component(jar(tmp_path, file))
    assert (told["name"], told["version"]) == (name, version)
    assert "purl" not in told


@pytest.mark.parametrize("line", ["two==1.0", "two>=1.0 \\\n    --hash=sha256:" + HASH, "two @ git+ssh://host/two"])
def test_a_lock_whose_entry_is_not_pinned_by_hash_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"two.*no version with a SHA-256 hash"):
        sbom.locked(f"{ONE}{line}\n")


def test_what_is_not_installed_as_locked_ends_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = tmp_path / "a.lock"
    lock.write_text(ONE)
    assert sbom.main([str(lock)]) == 2
    assert capsys.readouterr().err.startswith("sbom: one: locked, but not installed; install with")
    assert sbom.main([str(tmp_path / "none.lock")]) == 2
    assert list(sbom.differences(sbom.locked(ONE), {"one": "1.3"})) == ["one: 1.3 is installed, locked is 1.2"]


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-run.lock", "requirements-audit.lock"])
def test_each_lock_is_pinned_by_hash_and_names_no_registry(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert sbom.locked(text)
    assert "://" not in text


def installed(folder: Path, content: str) -> list[Distribution]:
    """A package of one file, whose RECORD was written when the file held `as built`."""
    info = folder / "one-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: one\nVersion: 1.2\n")
    (info / "RECORD").write_text("one.py,sha256=MELibbVtac37vaqLhBtUdNx_-foEj4lG-mOzHsIeyOM,8\n")
    (folder / "one.py").write_text(content)
    return list(distributions(path=[str(folder)]))


def test_the_audit_sees_a_file_that_changed_after_the_installation(tmp_path: Path) -> None:
    found = installed(tmp_path, "as built")
    assert list(audit.unverified(ONE, found)) == []
    (tmp_path / "one.py").write_text("not as built")
    assert list(audit.unverified(ONE, found)) == ["one.py: changed since it was installed"]
    (tmp_path / "one.py").unlink()
    assert list(audit.unverified(ONE, found)) == ["one.py: No such file or directory"]


@pytest.fixture
def osv() -> Iterator[str]:
    """Answers as OSV does to a question without a package."""

    class Bad(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_error(400)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer((HOST, 0), Bad) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_port}/v1/query"
        server.shutdown()


def test_where_osv_answers_pip_audits_verdict_counts(
    osv: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "pip-audit"
    program.write_text('#!/bin/sh\necho "$@"\nexit 1\n')
    program.chmod(0o700)
    monkeypatch.setenv("OSV_URL", osv)
    monkeypatch.setattr(audit, "tool", lambda: program)
    assert audit.main() == 1
    assert capfd.readouterr().out.split() == [
        "-r", str(audit.LOCK), "--disable-pip", "--progress-spinner", "off", "-s", "osv", "--osv-url", osv,
    ]  # fmt: skip


def test_where_osv_does_not_answer_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text(ONE)
    found = installed(tmp_path, "as built")
    monkeypatch.setenv("OSV_URL", f"http://{HOST}:1/v1/query")
    monkeypatch.setattr(audit, "LOCK", lock)
    monkeypatch.setattr(audit, "distributions", lambda: found)
    assert audit.main() == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("audit: OSV does not answer (")
    assert line.endswith("only the hashes of requirements.lock were verified: entries: 1, all as installed")
