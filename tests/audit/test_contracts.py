"""Every contract holds on real captures, and each is broken by what it is about and by nothing else."""

from collections.abc import Iterator

import psycopg
import pytest

from rebalance_monitor.streaming.audit.contract import Contract
from rebalance_monitor.streaming.audit.suites import SUITES
from rebalance_monitor.streaming.core.tables import TABLES
from tests.audit.conftest import at
from tests.audit.corruptions import CORRUPTIONS, incident

pytestmark = pytest.mark.postgres
CONTRACTS: tuple[Contract, ...] = tuple(contract for suite in SUITES for contract in suite.contracts)
Connection = psycopg.Connection[tuple[object, ...]]


@pytest.fixture(scope="module")
def connection(server: str, template: str) -> Iterator[Connection]:
    with psycopg.connect(at(server, template)) as opened:
        yield opened


def broken(connection: Connection) -> set[str]:
    return {one.name for one in CONTRACTS if connection.execute(one.broken.encode()).fetchall()}


def test_names_are_unique_and_every_contract_has_its_corruption() -> None:
    names = [contract.name for contract in CONTRACTS]
    assert len(set(names)) == len(names)
    assert set(names) == set(CORRUPTIONS)


def test_every_published_table_has_a_suite() -> None:
    assert [suite.table for suite in SUITES] == [table.name for table in TABLES]


def test_real_captures_keep_every_contract(connection: Connection) -> None:
    assert broken(connection) == set()
    counts = connection.execute(
        "select (select count(*) from rebalance_monitor.generations), (select count(*) from rebalance_monitor.members),"
        " (select count(*) from rebalance_monitor.incidents where rule = 'duplicate_active'),"
        " (select count(*) from rebalance_monitor.connectors_and_tasks where agreement = 'ok')"
    ).fetchone()
    assert counts is not None
    assert all(int(str(one)) > 20 for one in counts), counts


def test_an_incident_may_open_without_any_generation(connection: Connection) -> None:
    """As `monitor_error` does: the record at which the monitor failed was not judged."""
    with connection.transaction(force_rollback=True):
        done = connection.execute(
            "update rebalance_monitor.incidents set opened_generation = 0,"
            " document = jsonb_set(document, '{opened_generation}', '0')"
        )
        assert done.rowcount > 0
        assert broken(connection) == set()


def test_all_workers_gone_opens_with_a_record_of_which_no_generation_is_stored(connection: Connection) -> None:
    """The last worker leaves, and the coordinator writes the next generation without members."""
    gone = incident("i3", code="CONNECT-K18", rule="all_workers_gone", opened_generation=999)
    with connection.transaction(force_rollback=True):
        assert connection.execute(gone.encode()).rowcount == 1
        assert broken(connection) == set()


def test_duplicates_of_a_real_cluster_are_seen_and_excused_by_their_incidents_only(connection: Connection) -> None:
    with connection.transaction(force_rollback=True):
        connection.execute("update rebalance_monitor.incidents set rule = 'another' where rule = 'duplicate_active'")
        assert "one_report_or_incident" in broken(connection)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corruption_breaks_its_contract_alone(connection: Connection, name: str) -> None:
    with connection.transaction(force_rollback=True):
        for statement in CORRUPTIONS[name]:
            assert connection.execute(statement.encode()).rowcount != 0
        assert broken(connection) == {name}
