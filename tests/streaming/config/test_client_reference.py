"""A client's credentials stay out of what travels, and are read where the client connects."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from rebalance_monitor.streaming.config.client_reference import ClientReference
from rebalance_monitor.streaming.config.loading import load
from rebalance_monitor.streaming.config.section import ConfigError

SECRET, ROTATED = "s3cr3t-one", "s3cr3t-two"
VARIABLE = "REBALANCE_MONITOR__CLUSTERS__0__CLIENT__SASL_PASSWORD"


def file_with(folder: Path, password: str, name: str = "c") -> str:
    path = folder / "monitor.yaml"
    client = {"sasl.username": "monitor", "sasl.mechanism": "PLAIN", "sasl.password": password}
    path.write_text(json.dumps({"clusters": [{"name": name, "bootstrap_servers": "k:9092", "client": client}]}))
    return str(path)


def reference(config: str, environ: dict[str, str] | None = None) -> ClientReference:
    return ClientReference.of(load(config, environ or {}).clusters[0], config)


def test_no_credential_travels_and_each_process_reads_it(tmp_path: Path) -> None:
    config = file_with(tmp_path, SECRET)
    text = json.dumps(asdict(reference(config)))
    assert SECRET not in text
    found = ClientReference.parse(json.loads(text)).librdkafka({})
    assert found == load(config, {}).clusters[0].librdkafka()
    assert found["sasl.password"] == SECRET


def test_the_environment_outranks_the_file_there_as_well(tmp_path: Path) -> None:
    environ = {VARIABLE: SECRET}
    travels = reference(file_with(tmp_path, ROTATED), environ)
    assert travels.librdkafka(environ)["sasl.password"] == SECRET
    assert travels.librdkafka({})["sasl.password"] == ROTATED


def test_a_client_without_credentials_needs_no_configuration() -> None:
    shown = {"bootstrap.servers": "k:9092", "client.id": "monitor"}
    travels = ClientReference(shown=shown, config="/nowhere.yaml", cluster="c")
    assert travels.librdkafka({}) == shown


def test_what_is_taken_out_of_the_file_is_said(tmp_path: Path) -> None:
    travels = reference(file_with(tmp_path, SECRET))
    file_with(tmp_path, SECRET, "renamed")
    with pytest.raises(ConfigError, match=r"cluster c has no client property sasl\.password, .* SIGHUP"):
        travels.librdkafka({})
