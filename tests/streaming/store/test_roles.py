"""PostgreSQL over TLS with the two documented roles: each can do its work and no more, and what is missing is said."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from lab.cluster.postgres_releases import Tls, running
from rebalance_monitor.streaming.cli.config_connect import database_answers
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.store.retention import Kept, Retention
from rebalance_monitor.streaming.web.contract import ROUTES
from tests.certificates import HOST, Authority
from tests.dashboards.asked import sql
from tests.streaming.store.test_dashboard_queries import as_grafana_sends
from tests.waiting import PATIENCE_S
from tests.web import filled
from tests.web.conftest import served

pytestmark = pytest.mark.postgres
PAGE = Path(__file__).parents[3] / "docs" / "security.md"
DATABASE, WRITER, READER = "monitor", "monitor", "rebalance_readers"
BEYOND_EACH = (
    "create schema another",
    "create table public.another (a int)",
    "create database another",
    "create role another",
    "select * from others.secrets",
    "insert into others.secrets values (2)",
    "select pg_read_file('postgresql.conf')",
)
BEYOND_THE_READER = (
    "insert into rebalance_monitor.positions select * from rebalance_monitor.positions",
    "update rebalance_monitor.writer set epoch = epoch + 1",
    "delete from rebalance_monitor.incidents",
    "truncate rebalance_monitor.incidents",
    "drop table rebalance_monitor.outbox",
    "create table rebalance_monitor.another (a int)",
    "create temporary table another (a int)",
    "alter table rebalance_monitor.states add another int",
)


def documented() -> list[str]:
    """The statements of docs/security.md."""
    block = re.search(r"## Rights on PostgreSQL.*?```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    return [one.strip() for one in re.sub(r"--.*", "", block[1]).split(";") if one.strip()]


@dataclass(frozen=True, slots=True)
class Site:
    """A server whose database has the documented roles."""

    admin: str
    port: int
    authority: Path

    def dsn(self, role: str, **changed: Any) -> str:
        given = {
            "host": HOST, "port": self.port, "dbname": DATABASE, "user": role, "password": f"of-{role}",
            "sslmode": "verify-full", "sslrootcert": str(self.authority),
        }  # fmt: skip
        return make_conninfo(**{name: one for name, one in {**given, **changed}.items() if one is not None})

    def run(self, *statements: str) -> None:
        with psycopg.connect(make_conninfo(self.admin, dbname=DATABASE), autocommit=True) as admin:
            for one in statements:
                admin.execute(one.encode())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    authority, folder = Authority.made(), tmp_path_factory.mktemp("trusted")
    own = authority.issue("database")
    with running("18", Tls(own.pem, own.key())) as server:
        made = Site(server.dsn, server.port, authority.file(folder))
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            admin.execute(f"create database {DATABASE}".encode())
        made.run(*documented(), *(f"alter role {one} password 'of-{one}'" for one in (WRITER, READER)))
        made.run("create schema others", "create table others.secrets (a int)")
        yield made


@pytest.fixture(scope="module")
def full(site: Site) -> Site:
    """Migrated and filled by the writer, which has also claimed the cluster, committed and cut the history."""
    store = PostgresStore(site.dsn(WRITER), "gamma")
    store.migrate()
    assert store.claim() > 0
    filled.everything(store, int(time.time() * 1000))
    with store.database.session() as connection:
        in_use = connection.execute("select ssl from pg_stat_ssl where pid = pg_backend_pid()").fetchone()
    assert in_use == (True,)
    kept = Kept(days=1, max_bytes=1 << 40, summary_days=100_000)
    assert Retention(store.database, kept).cut(int(time.time() * 1000)).cut
    store.close()
    return site


def refuses(dsn: str, statement: str) -> bool:
    with psycopg.connect(dsn, autocommit=True) as connection:
        try:
            connection.execute(statement.encode())
        except psycopg.errors.InsufficientPrivilege:
            return True
    return False


def test_the_writer_can_do_no_more(full: Site) -> None:
    assert [one for one in BEYOND_EACH if not refuses(full.dsn(WRITER), one)] == []


def test_the_reader_can_do_no_more(full: Site) -> None:
    tried = (*BEYOND_EACH, *BEYOND_THE_READER)
    assert [one for one in tried if not refuses(full.dsn(READER), one)] == []


def test_the_reader_asks_what_dashboards_ask(full: Site) -> None:
    asked = list(sql())
    assert len(asked) > 10
    with psycopg.connect(full.dsn(READER), autocommit=True) as connection:
        for one in asked:
            connection.execute(as_grafana_sends(one.text, one.group).encode())


def test_the_page_and_the_api_answer_with_the_readers_role(full: Site, tmp_path: Path) -> None:
    with served(tmp_path, full.dsn(READER)) as url, httpx.Client(base_url=url, timeout=PATIENCE_S) as client:
        assert client.get("/").status_code == 200
        known = client.get("/api/v1/generations", params={"limit": 1}).json()["items"][0]
        given = {**known["source"], "cluster": known["cluster"], "group": known["group"]}
        given |= {"since_ms": known["at_ms"] - 60_000, "until_ms": known["at_ms"] + 1}
        described = client.get("/api/v1/openapi.json").json()["paths"]
        for route in ROUTES:
            if route.media == "application/json":
                needed = [one["name"] for one in described[route.path]["get"]["parameters"] if one["required"]]
                answer = client.get(route.path, params={name: given[name] for name in needed})
                assert answer.status_code == 200, answer.text


def sentence(dsn: str) -> str:
    """What whoever connects is told."""
    with pytest.raises(DatabaseUnreachable) as told, Database(dsn).session() as connection:
        connection.execute("select 1 from rebalance_monitor.positions")
    assert not any(f"of-{role}" in str(told.value) for role in (WRITER, READER))
    assert "\n" not in str(told.value)
    return str(told.value)


def checked(dsn: str) -> str | None:
    """What `config check --connect` says."""
    return database_answers(Settings.model_validate({"database": {"dsn": dsn}}))


@pytest.mark.parametrize("role", [WRITER, READER])
def test_tls_that_is_not_as_it_should_be_is_one_sentence(full: Site, role: str, tmp_path: Path) -> None:
    other = Authority.made().file(tmp_path)
    trust = "name the file of the authority that signed the server's certificate in database.dsn (sslrootcert)"
    for changed in ({"sslrootcert": str(other)}, {"sslrootcert": str(tmp_path / "none")}):
        assert trust in sentence(full.dsn(role, **changed))
    wrong_name = sentence(full.dsn(role, host="elsewhere.example", hostaddr=HOST))
    assert "does not match host name" in wrong_name
    assert trust in wrong_name
    plain = sentence(full.dsn(role, sslmode="disable", sslrootcert=None))
    assert plain.endswith("add sslmode=verify-full and sslrootcert to database.dsn")


def test_a_missing_right_is_one_sentence(full: Site) -> None:
    """Each right that the page grants, taken away."""
    assert checked(full.dsn(WRITER)) is None
    for role, taken, given in (
        (WRITER, "revoke connect on database {d} from {r}", "grant connect on database {d} to {r}"),
        (READER, "revoke connect on database {d} from {r}", "grant connect on database {d} to {r}"),
        (READER, "revoke usage on schema rebalance_monitor from {r}", "grant usage on schema rebalance_monitor to {r}"),
        (
            READER,
            "revoke select on all tables in schema rebalance_monitor from {r}",
            "grant select on all tables in schema rebalance_monitor to {r}",
        ),
    ):
        full.run(taken.format(d=DATABASE, r=role))
        try:
            said = sentence(full.dsn(role))
        finally:
            full.run(given.format(d=DATABASE, r=role))
        assert "permission denied for" in said
        assert said.endswith("the rights that its role needs are in docs/security.md")


def test_a_writer_without_its_schema_is_one_sentence(full: Site) -> None:
    with psycopg.connect(full.admin, autocommit=True) as admin:
        admin.execute("create database bare")
        admin.execute("revoke all on database bare from public")
        admin.execute(f"grant connect on database bare to {WRITER}".encode())
    bare = full.dsn(WRITER, dbname="bare")
    with pytest.raises(DatabaseUnreachable, match=r"permission denied for database bare.*docs/security\.md"):
        PostgresStore(bare).migrate()
    said = checked(bare)
    assert said is not None
    assert "may not create the schema rebalance_monitor" in said
