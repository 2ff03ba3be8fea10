"""Who may see what; a token's text shows nowhere."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.web.scope import EVERYTHING, Scope, Token, admitted, visible

PIPELINES = Token("pipelines-0123456789", Scope("pipelines", ("prod-*",), ("pipelines",)))
ALL = Token("everything-0123456789", Scope("ops"))


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("Bearer pipelines-0123456789", "pipelines"),
        ("bearer  everything-0123456789 ", "ops"),
        (basic("anybody", "everything-0123456789"), "ops"),
        (basic("", "pipelines-0123456789"), "pipelines"),
        (None, None),
        ("", None),
        ("Bearer", None),
        ("Bearer pipelines-012345678", None),
        ("Bearer pipelines-0123456789x", None),
        ("Basic !!!", None),
        ("Basic " + base64.b64encode(b"\xff:\xff").decode(), None),
        (basic("pipelines-0123456789", ""), None),
        ("Digest pipelines-0123456789", None),
    ],
)
def test_a_request_is_let_in_by_its_token_alone(header: str | None, found: str | None) -> None:
    scope = admitted(header, [PIPELINES, ALL])
    assert (None if scope is None else scope.name) == found


def test_without_tokens_everybody_is_let_in() -> None:
    assert admitted(None, []) is EVERYTHING


@given(st.text())
def test_no_other_header_lets_in(header: str) -> None:
    assert PIPELINES.secret in header or admitted(header, [PIPELINES]) is None


def test_a_token_never_shows_its_text() -> None:
    assert PIPELINES.secret not in f"{PIPELINES!r} {PIPELINES}"


def test_a_scope_shows_groups_whose_cluster_and_team_both_fit() -> None:
    teams = {("prod-a", "x"): "pipelines", ("prod-a", "y"): "other", ("test", "z"): "pipelines"}
    known = [*teams, ("prod-a", "nobodys")]
    assert visible(PIPELINES.scope, lambda c, g: teams.get((c, g), ""), known) == [("prod-a", "x")]
    assert visible(EVERYTHING, lambda c, g: "", known) == known
    assert not PIPELINES.scope.everything
    assert EVERYTHING.everything
