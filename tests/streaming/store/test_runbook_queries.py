"""Every query that a runbook lets people paste runs on the schema that the migrations make."""

import shlex

import psycopg
import pytest

from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.incidents.own_alerts import OWN_ALERTS
from rebalance_monitor.streaming.core.runbooks import commands
from rebalance_monitor.streaming.store.postgres import PostgresStore

pytestmark = pytest.mark.postgres

DECLARED = [(rule.confirm, rule.advice) for rule in RULES] + [(own.confirm, own.advice) for own in OWN_ALERTS]
QUERIES = sorted({run for confirm, advice in DECLARED for run in commands(confirm, advice) if run.startswith("psql ")})


@pytest.mark.parametrize("command", QUERIES)
def test_a_query_of_a_runbook_runs_and_says_which_database(store: PostgresStore, command: str) -> None:
    _, database, option, query = shlex.split(command)
    assert (database, option) == ("$DSN", "-c")
    with store.database.session() as connection, connection.cursor() as cursor:
        cursor.execute(query.encode())
        assert isinstance(cursor, psycopg.Cursor)
        assert cursor.description
