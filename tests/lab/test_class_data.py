"""Class data of Java programs is used where it was recorded, and only by the Java and the jars that made it."""

from dataclasses import replace
from pathlib import Path

import pytest

from lab.cluster import class_data
from lab.cluster.java import Java

MAIN = class_data.BROKER


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(class_data, "FOLDER", tmp_path / "class-data")
    folder = tmp_path / "jars"
    folder.mkdir()
    (folder / "kafka-1.jar").write_bytes(b"1")
    return folder


def test_it_is_used_once_it_is_there_until_java_or_a_jar_changes(tmp_path: Path, jars: Path) -> None:
    java, class_path = Java(tmp_path, 17, "PATH"), f"{jars}/*"
    assert class_data.flags(java, class_path, MAIN) == ()
    recorder = replace(java, recorded_into=class_data.folder(java, class_path))
    (recording, _) = class_data.flags(recorder, class_path, MAIN)
    file = Path(recording.removeprefix("-XX:ArchiveClassesAtExit="))
    file.parent.mkdir(parents=True)
    file.touch()
    assert class_data.flags(java, class_path, MAIN)[0] == f"-XX:SharedArchiveFile={file}"
    assert class_data.flags(java, class_path, class_data.WORKER)[0] == f"-XX:SharedArchiveFile={file}", "has the same"
    assert class_data.flags(replace(java, version=21), class_path, MAIN) == ()
    (jars / "kafka-1.jar").write_bytes(b"22")
    assert class_data.flags(java, class_path, MAIN) == ()


def test_that_of_another_program_is_used_if_it_is_a_broker_s(tmp_path: Path, jars: Path) -> None:
    java, class_path = Java(tmp_path, 17, "PATH"), f"{jars}/*"
    folder = class_data.folder(java, class_path)
    folder.mkdir(parents=True)
    for name in (class_data.WORKER, class_data.BROKER):
        assert class_data.flags(java, class_path, "kafka.tools.Any") == ()
        (folder / f"{name}.jsa").touch()
    for main, taken in {"kafka.tools.Any": class_data.BROKER, class_data.WORKER: class_data.WORKER}.items():
        assert class_data.flags(java, class_path, main)[0] == f"-XX:SharedArchiveFile={folder / taken}.jsa"
