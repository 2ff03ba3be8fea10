"""What the tests of telling rest on: shortened rules, and a receiver that keeps what it gets."""

from lab.asking import local
from lab.receivers.alerting import shortened
from lab.receivers.hook_receiver import KEY, HookReceiver
from rebalance_monitor.dashboards.alerts import rule_file
from tests.waiting import PATIENCE_S


def test_every_duration_is_shortened_and_nothing_else() -> None:
    rule = {
        "alert": "A5m",
        "expr": "max_over_time(x{a='b'}[2h:30s]) > 120 or (y offset 15m) == 1",
        "for": "10m",
        "labels": {"severity": "info"},
        "annotations": {"summary": "for 10m"},
    }
    (group,) = shortened({"groups": [{"name": "g", "rules": [rule]}]}, 20)["groups"]
    assert group == {
        "name": "g",
        "rules": [
            {
                **rule,
                "expr": "max_over_time(x{a='b'}[360000ms:1500ms]) > 120 or (y offset 45000ms) == 1",
                "for": "30000ms",
            }
        ],
    }


def test_the_shortened_rule_file_has_the_same_rules() -> None:
    def names(rules: dict[str, list[dict[str, list[dict[str, str]]]]]) -> list[str]:
        return [rule.get("alert") or rule["record"] for group in rules["groups"] for rule in group["rules"]]

    short = shortened(rule_file(), 20)
    assert names(short) == names(rule_file())
    assert "15m" in str([rule["expr"] for group in rule_file()["groups"] for rule in group["rules"]])
    assert "15m" not in str([rule["expr"] for group in short["groups"] for rule in group["rules"]])


def test_a_key_that_was_seen_changes_nothing() -> None:
    with HookReceiver() as receiver:
        for key, text in (("a", "1"), ("b", "2"), ("a", "3")):
            answer = local().post(f"{receiver.url}/hook", json={"text": text}, headers={KEY: key}, timeout=PATIENCE_S)
            assert answer.status_code == 200
        assert receiver.inbox.honoured() == {"a": {"text": "1"}, "b": {"text": "2"}}
        assert receiver.inbox.raw() == {"a": 2, "b": 1}
        assert local().post(f"{receiver.url}/hook", json={}, timeout=PATIENCE_S).status_code == 400


def test_what_alertmanager_says_is_kept_by_label_set() -> None:
    with HookReceiver() as receiver:
        for status in ("firing", "resolved"):
            body = {"alerts": [{"labels": {"b": "2", "a": "1"}, "status": status}]}
            assert local().post(f"{receiver.url}/alertmanager", json=body, timeout=PATIENCE_S).status_code == 200
        assert receiver.inbox.alerts() == {(("a", "1"), ("b", "2")): ["firing", "resolved"]}
