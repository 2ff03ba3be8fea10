"""Kafka's rule for topic names, with the examples of Kafka's own TopicTest."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.model.topic_names import LONGEST, why_illegal

LEGAL = ("valid", "TOPIC", "nAmEs", "ar6", "VaL1d", "_0-9_.", "...", "a" * LONGEST)
ILLEGAL = ("", "foo bar", "..", ".", "foo:bar", "foo=bar", "foo/bar", "ünï", "a\n", "a\x00", "\ud800", "a" * 250)


@pytest.mark.parametrize("name", LEGAL)
def test_legal_names_have_no_reason(name: str) -> None:
    assert why_illegal(name) is None


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal_names_have_a_reason_in_one_line(name: str) -> None:
    why = why_illegal(name)
    assert why
    assert why.isprintable()


@given(st.text(max_size=300))
@example("a" * 260)
def test_a_name_is_legal_by_its_characters_and_its_length(name: str) -> None:
    legal = 0 < len(name) <= 249 and name not in (".", "..") and not re.search(r"[^a-zA-Z0-9._-]", name)
    assert (why_illegal(name) is None) == legal
