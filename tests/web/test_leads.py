"""Where the page leads to: every link of it is answered, above all what to do about an incident."""

import re
from html import unescape
from urllib.parse import urljoin

import httpx
import pytest

from rebalance_monitor.streaming.core.catalogue import RULES
from tests.web import filled

pytestmark = pytest.mark.postgres


def links(page: httpx.Client, address: str) -> set[str]:
    """Addresses on this server that the page at `address` names, without what is behind a #."""
    found = re.findall(r'(?:href|src|action)="(?!https:)([^"#]+)', page.get(address).text)
    return {urljoin(address, unescape(one)) for one in found}


def test_every_link_of_the_fleet_is_answered(page: httpx.Client) -> None:
    found = links(page, "/") | links(page, "/group?cluster=gamma&group=waits")
    found |= links(page, "/group?cluster=gamma&group=hundred-workers")
    wanted = {"/", "/group", "/runbook", "/api/v1/openapi.json", "/api/v1/generation", "/static/monitor.js"}
    assert {one.partition("?")[0] for one in found} >= wanted
    for link in found:
        assert page.get(link).status_code == 200, link


@pytest.mark.parametrize(
    "address", ["/", "/group?cluster=gamma&group=waits", "/runbook?rule=imbalance", "/no/such/page"]
)
def test_below_a_path_of_a_proxy_every_link_stays_below_it(page: httpx.Client, address: str) -> None:
    """A proxy takes its own part of the path away: the page is asked for the same, and does not know of it."""
    there = urljoin("https://kafka.example/rebalances/", address.removeprefix("/"))
    found = re.findall(r'(?:href|src|action)="(?!https:)([^"#]+)', page.get(address).text)
    assert found
    root = "https://kafka.example/rebalances/"
    for link in found:
        assert urljoin(there, unescape(link)).startswith(root), link
    asked = [f"/{urljoin(there, unescape(link)).removeprefix(root)}" for link in found]
    assert {page.get(one).status_code for one in asked} == {200}


def test_links_of_an_error_page_lead_to_the_root_however_its_address_is_written(page: httpx.Client) -> None:
    for address in ("/a/b/c", "/static/..%2fserve.py", "/group"):
        assert urljoin(address, re.findall(r'class="home" href="([^"]+)"', page.get(address).text)[0]) == "/"


def test_a_group_without_generation_shows_its_incident_and_why_nothing_else(page: httpx.Client) -> None:
    answer = page.get("/group?cluster=gamma&group=unread")
    assert answer.status_code == 200
    assert "member w9 can&#39;t be read" in answer.text
    assert "No generation of this group could be read yet" in answer.text
    assert "runbook?rule=undecodable_member" in answer.text
    told = page.get("/api/v1/group?cluster=gamma&group=unread").json()
    assert (told["generation"], told["group"]["generation"], told["group"]["state"]) == (None, None, "warning")
    assert [one["violation"]["incident_id"] for one in told["incidents"]] == ["unread"]
    assert "unread" in {one["group"] for one in page.get("/api/v1/groups?cluster=gamma").json()["items"]}
    assert filled.HOSTILE in {one["group"] for one in page.get("/api/v1/groups?cluster=gamma").json()["items"]}


def test_of_an_empty_group_nobody_is_a_member_and_nobody_has_a_job(page: httpx.Client) -> None:
    group = page.get("/api/v1/group?cluster=beta&group=connect-main").json()["group"]
    jobs = page.get("/api/v1/connectors_and_tasks?cluster=beta&group=connect-main").json()["items"]
    assert (group["status"], group["members"], group["unassigned"]) == ("Empty", 0, len(jobs))
    assert jobs
    text = page.get("/group?cluster=beta&group=connect-main").text
    assert "Nobody is in the group now" in text
    assert "· leader" not in text
    assert "0 members" in text


@pytest.mark.parametrize("title", sorted({rule.title for rule in RULES}))
def test_every_rule_has_its_runbook_on_the_page(page: httpx.Client, title: str) -> None:
    answer = page.get("/runbook", params={"rule": title})
    assert answer.status_code == 200
    text = unescape(re.sub(r"</?code>", "`", answer.text))
    for rule in (one for one in RULES if one.title == title):
        assert rule.code in text
        steps = [one.text for one in rule.advice]
        for said in (rule.wrong, rule.meaning, rule.resolves, *steps, *rule.exceptions):
            assert said in text
