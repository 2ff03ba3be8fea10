"""Each rule's law is described in docs/protocol under the rule's code.

A page names a law in the first cell of a table (`| K5 unassigned too long |`, `| C-01 |`: the prefix is the page's), by
its whole code (**GROUP-G1**), or within a range (**EPOCHS-E1** to **EPOCHS-E10**).
"""

import re
from pathlib import Path

import pytest

from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.incidents.rule import Rule

PROTOCOL = Path(__file__).parents[2] / "docs" / "protocol"
PAGES = {
    "CONNECT": "connect.md",
    "CONSUMER": "consumer.md",
    "STREAMS": "streams-laws.md",
    "EPOCHS": "coordinator-log.md",
    "SHARE": "coordinator-log.md",
    "GROUP": "coordinator-log.md",
}
OWN = "MONITOR"
"""Rules about the monitor itself have no law of Kafka's."""
PARTS = re.compile(r"([A-Z]+)-([A-Z])0*(\d+)")
LAWS = [rule for rule in RULES if not rule.code.startswith(OWN)]


def parts(code: str) -> tuple[str, str, int]:
    """Prefix, letter and number."""
    found = PARTS.fullmatch(code)
    assert found is not None, code
    return found[1], found[2], int(found[3])


def described(page: str, prefix: str) -> set[tuple[str, str, int]]:
    """The laws that a page describes."""
    rows = re.findall(r"^\| ([A-Z])-?0*(\d+)\b", page, re.MULTILINE)
    found = {(prefix, letter, int(number)) for letter, number in rows}
    found |= {parts(code) for code in re.findall(r"\*\*([A-Z]+-[A-Z]\d+)\*\*", page)}
    for first, last in re.findall(r"\*\*([A-Z]+-[A-Z]\d+)\*\* to \*\*([A-Z]+-[A-Z]\d+)\*\*", page):
        (*kind, low), (*_, high) = parts(first), parts(last)
        found |= {(kind[0], kind[1], number) for number in range(low, high + 1)}
    return found


@pytest.mark.parametrize("rule", LAWS, ids=lambda rule: rule.code)
def test_the_page_of_a_rule_describes_its_law(rule: Rule) -> None:
    prefix, _, _ = law = parts(rule.code)
    name = PAGES[prefix]
    page = (PROTOCOL / name).read_text(encoding="utf-8")
    assert law in described(page, prefix), f"docs/protocol/{name} describes no law {rule.code}; write it there"


def test_how_a_law_is_found() -> None:
    page = "| K5 too long | x |\n| C-01 | x |\ntext K7 and **GROUP-G1**; **SHARE-H1** to **SHARE-H3**\n"
    assert described(page, "X") == {
        ("X", "K", 5), ("X", "C", 1), ("GROUP", "G", 1), ("SHARE", "H", 1), ("SHARE", "H", 2), ("SHARE", "H", 3),
    }  # fmt: skip
