"""Compaction took records and statuses while the monitor was down: who was given a task back then runs it alone."""

import pytest

from lab.attack import holes
from lab.attack.life import captures
from lab.attack.monitor import live


@pytest.mark.parametrize("name", ["compatible-2.8.2", "sessioned-4.3.1"])
def test_a_task_given_back_in_a_generation_that_was_not_seen_is_no_duplicate(name: str) -> None:
    life = next(one for one in captures() if one.name == name)
    telling, down = holes.telling(life, "compacted", 14)
    loud = {one.code for one in live(telling, {}, down=down).loud()}
    # What is true of the captures: a connector fails on purpose, and at the end every worker is stopped.
    assert loud <= {"CONNECT-K18", "CONNECT-K19"}
