"""Everybody who is told of something finds a page that says what to do, and it is the catalogue's own word."""

import re
from pathlib import Path

import pytest

from rebalance_monitor.dashboards.alerts import rule_file
from rebalance_monitor.dashboards.published import pages
from rebalance_monitor.dashboards.runbooks import FOLDER
from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.incidents.own_alerts import OWN_ALERTS, OwnAlert, readable
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.step import Step, StepKind
from rebalance_monitor.streaming.core.runbooks import VARIABLES
from rebalance_monitor.streaming.web.pages import runbook_page

DOCS = Path(__file__).parents[2] / "docs"
PAGES = pages()
"""Made once: playing the advice takes time, and these tests only read."""
HEADINGS = ["Symptom", "Meaning", "How to confirm", "What to do", "When it ends by itself"]
TOOLS = {
    "curl", "grep", "kill", "kubectl", "psql", "rebalance-monitor", "connect-distributed.sh",
    "kafka-acls.sh", "kafka-broker-api-versions.sh", "kafka-console-consumer.sh", "kafka-consumer-groups.sh",
    "kafka-get-offsets.sh", "kafka-groups.sh", "kafka-jmx.sh", "kafka-share-groups.sh", "kafka-streams-groups.sh",
    "kafka-topics.sh",
}  # fmt: skip


@pytest.mark.parametrize("path", sorted(PAGES))
def test_committed_page_equals_what_the_catalogue_says(path: str) -> None:
    file = DOCS / path
    committed = file.read_text(encoding="utf-8") if file.exists() else ""
    assert committed == PAGES[path], "`rebalance-monitor dashboards build` writes it"


def test_no_page_outlives_its_rule() -> None:
    left = {f"{FOLDER}/{file.name}" for file in (DOCS / FOLDER).iterdir()} - set(PAGES)
    assert not left, f"no rule has these pages; delete them in docs: {', '.join(sorted(left))}"


def test_the_document_on_alerts_names_the_rules_that_page() -> None:
    text = (DOCS / "alerts.md").read_text(encoding="utf-8")
    listed = text.split("* **critical** pages.")[1].split("Nothing else pages.")[0]
    paging = {rule.title for rule in RULES if rule.pages or rule.pages_after_ms is not None}
    assert set(re.findall(r"`(\w+)`", listed)) == paging


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_rule_says_what_it_means_how_to_confirm_it_and_what_to_do(rule: Rule) -> None:
    assert rule.wrong.endswith(".")
    assert rule.meaning.endswith(".")
    assert rule.wrong != rule.meaning
    assert rule.confirm
    assert rule.advice
    assert all(step.text.endswith(".") for step in rule.advice)
    assert rule.resolves.endswith(".")
    assert all(re.fullmatch(r"KAFKA-\d+", issue) for issue in rule.issues)


@pytest.mark.parametrize("title", sorted({rule.title for rule in RULES}))
def test_every_title_has_all_parts_and_names_its_codes(title: str) -> None:
    text = PAGES[f"{FOLDER}/{title}.md"]
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        *HEADINGS,
        "Known false positives",
        "Kafka issues",
    ]
    assert all(rule.code in text for rule in RULES if rule.title == title)


@pytest.mark.parametrize("path", sorted(path for path in PAGES if path.startswith(FOLDER)))
def test_commands_are_real_tools_and_say_what_to_fill_in(path: str) -> None:
    text = PAGES[path]
    blocks = re.findall(r"^ *```sh\n(.+?)\n *```$", text, re.MULTILINE | re.DOTALL)
    for command in (line.strip() for block in blocks for line in block.splitlines()):
        assert command.split()[0] in TOOLS
        for name in re.findall(r"\$([A-Z_]+)", command):
            assert f"`{name}` ({VARIABLES[name]})" in text
        assert not re.search(r"'[^']*\$[A-Z_]+[^']*'", command), "a shell fills in nothing between single quotes"


@pytest.mark.parametrize("own", OWN_ALERTS, ids=lambda own: own.name)
def test_the_page_of_an_alert_begins_with_what_it_says_and_ends_with_its_expression(own: OwnAlert) -> None:
    text = pages()[f"{FOLDER}/{own.name}.md"]
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [one for one in headings if one != "How to confirm"] == [
        *(one for one in HEADINGS if one != "How to confirm"),
        "Expression",
    ]
    symptom = text.split("## Symptom")[1].split("##")[0]
    assert readable(own.summary) in symptom
    assert not re.match(r"(It|They|This|These|That|Those)\b", own.description), "the page has nothing it could refer to"


def test_steps_of_several_rules_say_which_rule_they_are_for() -> None:
    text = pages()[f"{FOLDER}/partition_without_owner.md"].split("## What to do")[1]
    assert re.findall(r"^([A-Z0-9-]+(?:, [A-Z0-9-]+)*):$", text, re.MULTILINE) == ["CONSUMER-C01", "EPOCHS-E11"]
    assert "* EPOCHS-E11: With the target" in text
    steps = pages()[f"{FOLDER}/duplicate_active.md"].split("## What to do")[1].split("## When")[0]
    assert "CONNECT-I1" not in steps, "the three rules give the same steps"


@pytest.mark.parametrize("title", sorted({rule.title for rule in RULES}))
def test_no_rule_gives_a_step_twice(title: str) -> None:
    for rule in (rule for rule in RULES if rule.title == title):
        assert len({step.text for step in rule.advice}) == len(rule.advice)


WAKING: list[tuple[str, tuple[Step, ...]]] = [
    *((rule.code, rule.advice) for rule in RULES if rule.pages or rule.pages_after_ms is not None),
    *((own.name, own.advice) for own in OWN_ALERTS if own.severity == "critical"),
]


@pytest.mark.parametrize(("name", "advice"), WAKING, ids=[name for name, _ in WAKING])
def test_who_is_woken_is_told_what_to_change(name: str, advice: tuple[Step, ...]) -> None:
    assert any(step.kind is not StepKind.LOOKS for step in advice), name


def test_every_alert_leads_to_a_page_that_exists() -> None:
    for group in rule_file()["groups"]:
        for rule in group["rules"]:
            if "alert" not in rule:
                continue
            address, _, name = rule["annotations"]["runbook_url"].partition("?rule=")
            assert address.endswith("{{ else }}http://127.0.0.1:9471{{ end }}/runbook")
            assert name in runbook_page(name)
            assert f"{FOLDER}/{name}.md" in PAGES


def test_each_title_has_one_alert_name_in_the_style_of_the_field() -> None:
    names = {rule.title: rule.alert for rule in RULES}
    assert all(rule.alert == names[rule.title] for rule in RULES)
    assert len(set(names.values())) == len(names)
    assert all(re.fullmatch(r"Kafka([A-Z][a-z]+)+", name) for name in names.values())
