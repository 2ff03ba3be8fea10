"""For every contract what breaks it, and it alone: statements that are planted into the filled database."""

import json
from typing import Any

S = "rebalance_monitor"
FIRST = "cluster = 'c' and \"offset\" = 5"
_CONTENT = f"(select content, day from {S}.stored_generations where {FIRST})"
PENDING = "cluster = 'c' and \"offset\" = 8"
_PATHS = {
    "grade": "{verdict,grade}", "reason": "{verdict,reason}", "pending_until_ms": "{verdict,pending_until_ms}",
    "offset": "{source,offset}", "type": "{subject,type}", "running_at_ms": "{running,at_ms}",
}  # fmt: skip


def _literal(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool() | int():
            return str(value).lower()
        case str():
            return f"'{value}'"
        case _:
            return f"'{json.dumps(value)}'::jsonb"


def _patched(document: str, columns: dict[str, Any]) -> str:
    for column, value in columns.items():
        path = _PATHS.get(column, f"{{{column}}}")
        document = f"jsonb_set({document}, '{path}', '{json.dumps(value)}')"
    return document


def both(table: str, where: str, **columns: Any) -> str:
    """Changes columns, and the document with them."""
    changes = ", ".join(f'"{column}" = {_literal(value)}' for column, value in columns.items())
    whole = _whole(table) if table == "stored_generations" else "document"
    return f"update {S}.{table} set {changes}, document = {_patched(whole, columns)} where {where}"


def _whole(row: str) -> str:
    """All of a generation's document, of which its row has a part; what the row has outdoes the rest."""
    return (
        f"(select w.document - 'members' from {S}.generations w"
        f' where (w.cluster, w.topic_id, w.partition, w."offset")'
        f' = ({row}.cluster, {row}.topic_id, {row}.partition, {row}."offset"))'
    )


def only(table: str, where: str, changes: str) -> str:
    return f"update {S}.{table} set {changes} where {where}"


def generation(offset: int, number: int) -> str:
    """One more generation of the group, without members."""
    given = {"offset": offset, "generation": number}
    document = _patched(_whole("g"), given)
    changed = (
        f"jsonb_build_object('offset', {offset}, 'generation', {number}, 'member_count', 0, 'document', {document},"
        " 'content', 'nobody', 'bytes', '[]'::jsonb, 'sent', null)"
    )
    copied = f"select (jsonb_populate_record(g, {changed})).* from {S}.stored_generations g where {FIRST}"
    empty = f"jsonb_build_object('document', {_whole('g')}, 'members', '[]'::jsonb, 'expected', null)"
    nobody = f"select 'nobody', day, {empty} from {S}.stored_generations g where {FIRST}"
    return (
        f"with content as (insert into {S}.stored_contents {nobody} on conflict do nothing)"
        f" insert into {S}.stored_generations {copied}"
    )


def member(ordinal: int, **columns: Any) -> list[str]:
    """Changes what a member of the generation has."""
    content = "content"
    for column, value in columns.items():
        content = f"jsonb_set({content}, '{{members,{ordinal},{column}}}', '{json.dumps(value)}')"
    return [only("stored_contents", f"(hash, day) in {_CONTENT}", f"content = {content}")]


def one_of(agreement: str) -> str:
    """The first connector or task of this agreement."""
    return (
        f'(cluster, "group", type, id) = (select cluster, "group", type, id from {S}.connectors_and_tasks'
        f" where agreement = '{agreement}' order by 1, 2, 3, 4 limit 1)"
    )


OK, GONE = one_of("ok"), one_of("gone")
TASK = {"connectors": [], "tasks": [["z", 0]]}


def incident(name: str, **columns: Any) -> str:
    return both("incidents", f"incident_id = '{name}'", **columns)


def notification(key: str, incident_id: str, transition: str) -> str:
    return (
        f"insert into {S}.outbox (key, incident_id, transition, document, batch_id)"
        f" values ('{key}', '{incident_id}', '{transition}', '{{\"incident_id\": \"{incident_id}\"}}', 1)"
    )


def gap(start: int, end: int) -> str:
    return f"insert into {S}.gaps values ('c', 'id-1', '__consumer_offsets', 3, {start}, {end}, 'deleted', 1)"


CORRUPTIONS: dict[str, list[str]] = {
    "generation_was_read": [generation(100_000, 9)],
    "generation_not_in_gap": [generation(12, 9)],
    "generation_never_falls": [generation(50, 3)],
    "generation_members_stored": [only("stored_generations", FIRST, "member_count = 5")],
    "generation_document_fits": [only("stored_generations", FIRST, "leader = 'another'")],
    "generation_grade_known": [both("stored_generations", FIRST, grade="good", reason="so")],
    "generation_says_why": [both("stored_generations", FIRST, grade="unexplained")],
    "pending_is_not_judged": [both("stored_generations", PENDING, grade="match")],
    "pending_has_timer": [only("states", "cluster = 'c'", "due_ms = null")],
    "pending_ends": [
        both("stored_generations", PENDING, pending_until_ms=1_000),
        only("states", "cluster = 'c'", "due_ms = 500"),
    ],
    "one_holder_or_incident": member(1, assigned={"connectors": ["a"], "tasks": []}),
    "one_report_or_incident": [*member(0, owned=TASK), *member(1, owned=TASK, revoked=TASK)],
    "member_bytes_stored": [only("stored_generations", FIRST, "bytes = '[[\"none\", null]]', sent = null")],
    "member_once": member(1, member_id="connect-1"),
    "bytes_fit_hash": [f"insert into {S}.stored_assignments values ('other', 1, 'x')"],
    "burst_spans": [
        only(
            "stored_generations", FIRST,
            """document = document || '{"burst": {"kind": "storm", "first_generation": 9, "last_generation": 7,
            "first_at_ms": 1, "last_at_ms": 2, "count": 1}}'""",
        )
    ],
    "incident_has_evidence": [incident("i3", evidence=[])],
    "incident_evidence_was_read": [
        incident("i3", evidence=[{"topic": "__consumer_offsets", "partition": 3, "offset": 10**9}])
    ],
    "incident_generation_stored": [incident("i3", opened_generation=999)],
    "incident_times_in_order": [incident("i2", resolved_at_ms=1)],
    "incident_history_is_silent": [
        incident("i3", fired_at_ms=2_000),
        only("incidents", "incident_id = 'i3'", "historic = true"),
    ],
    "incident_firing_since": [incident("i1", fired_at_ms=None)],
    "incident_transition_fits": [only("incidents", "incident_id = 'i2'", "transition = 'opened'")],
    "part_has_incident": [
        only(
            "incident_parts",
            "incident_id = 'i2'",
            "incident_id = 'nobody', document = jsonb_set(document, '{incident_id}', '\"nobody\"')",
        )
    ],
    "part_open_in_open_incident": [f"delete from {S}.incident_parts where incident_id = 'i3'"],
    "part_open_once": [
        f"insert into {S}.incidents select (jsonb_populate_record(i, jsonb_build_object('incident_id', 'i4',"
        f" 'document', jsonb_set(i.document, '{{incident_id}}', '\"i4\"')))).*"
        f" from {S}.incidents i where incident_id = 'i3'",
        f"insert into {S}.incident_parts select (jsonb_populate_record(p, jsonb_build_object('incident_id', 'i4',"
        f" 'document', jsonb_set(p.document, '{{incident_id}}', '\"i4\"')))).*"
        f" from {S}.incident_parts p where incident_id = 'i3'",
    ],
    "part_document_fits": [only("incident_parts", "incident_id = 'i3'", "message = 'another'")],
    "incident_leader_is_notified": [only("incidents", "incident_id = 'i1'", "led_by = 'nobody'")],
    "incident_code_has_one_title": [incident("i3", rule="another")],
    "incident_document_fits": [only("incidents", "incident_id = 'i3'", "message = 'another'")],
    "incident_severity_known": [incident("i3", severity="bad")],
    "incident_alert_known": [incident("i3", alert="bad")],
    "incident_certainty_known": [incident("i3", certainty="bad")],
    "notification_has_incident": [notification("nobody:fired", "nobody", "fired")],
    "notification_key_fits": [only("outbox", "key = 'i2:resolved'", "key = 'i2:another'")],
    "notification_begins_with_fired": [notification("i3:ended", "i3", "ended")],
    "notification_transition_known": [notification("i1:shouted", "i1", "shouted")],
    "sent_after_written": [only("outbox_sent", "url = 'chat'", "sent_at = '2000-01-01'")],
    "connector_or_task_agreement_known": [both("connectors_and_tasks", OK, agreement="fine")],
    "connector_or_task_type_known": [both("connectors_and_tasks", GONE, type="thing")],
    "connector_or_task_agreement_fits": [both("connectors_and_tasks", OK, agreement="held_twice")],
    "connector_or_task_has_generation": [both("connectors_and_tasks", OK, generation=100_000)],
    "connector_or_task_holders_fit_members": [both("connectors_and_tasks", OK, assigned=["another:8083"])],
    "connector_or_task_running_whole": [both("connectors_and_tasks", OK, running_at_ms=None)],
    "connector_or_task_document_fits": [only("connectors_and_tasks", OK, "since_ms = since_ms + 1")],
    "group_state_known": [only("groups", "state = 'Empty'", "state = 'Odd'")],
    "group_stands_on_generation": [only("groups", "state = 'Stable'", "at_ms = 0")],
    "group_has_state": [f"delete from {S}.states where cluster = 'zombie'"],
    "progress_was_asked_for": [only("group_progress", "true", "answered_ms = asked_ms - 1")],
    "progress_counts_each_partition_once": [
        only("group_progress", "true", "document = jsonb_set(document, '{members,0,standing}', '7')")
    ],
    "other_group_kind_known": [only("other_groups", "true", "kind = 'odd'")],
    "other_group_counted": [only("other_groups", "true", "records = 0")],
    "position_in_range": [f"insert into {S}.positions values ('k1', 'id-2', 0, 't', -1, null, false, 1)"],
    "position_topic_has_one_name": [
        f"insert into {S}.positions values ('k1', 'id-1', 77, 'another', 1, null, false, 1)"
    ],
    "gap_has_extent": [gap(60, 60)],
    "gap_claimed_once": [gap(11, 13)],
    "gap_was_passed": [gap(90, 5_000)],
    "undecodable_was_read": [
        only("undecodable_counts", "true", "records = records + 1"),
        f"insert into {S}.undecodable values ('c', 'id-1', 't', 3, 99999, 'trailing bytes', 4, '00', 1)",
    ],
    "undecodable_size": [only("undecodable", "true", "size_bytes = -1")],
    "undecodable_counted": [only("undecodable_counts", "true", "records = 0")],
    "cut_reason_known": [f"insert into {S}.cuts values (1, 'whim', now(), now())"],
    "cut_comes_to_its_end": [f"insert into {S}.cuts values (2, 'age', now() - interval '3 hours', null)"],
    "summary_kind_known": [f"insert into {S}.daily_summaries values ('c', 'g', 2, 'odd', 'match', 1)"],
    "summary_counts_all_alike": [f"insert into {S}.daily_summaries values ('c', 'g', 1, 'grade', 'match', 1)"],
    "cost_known_of_no_more_than_all": [
        f"insert into {S}.daily_summaries values ('c', 'g', 3, 'cause', 'none', 1),"
        " ('c', 'g', 3, 'grade', 'match', 1)",
        f"update {S}.daily_summaries set moved_of = 2 where day = 3 and kind = 'cause'",
    ],
    "cost_as_the_document_says": [only("stored_generations", FIRST, "cost.moved = 99")],
    "connectors_cost_what_the_rebalance_does": [
        f"insert into {S}.daily_summaries values ('c', 'g', 4, 'cause', 'none', 1),"
        " ('c', 'g', 4, 'grade', 'match', 1)",
        f"update {S}.daily_summaries set connectors = '{{\"a\": [1, 5, 1]}}' where day = 4 and kind = 'cause'",
    ],
    "window_end_is_signed": [
        f"alter table {S}.maintenance disable trigger all",
        only("maintenance", "true", "ended_by = 'somebody'"),
    ],
    "window_has_owner": [
        f"alter table {S}.maintenance disable trigger all",
        f"alter table {S}.maintenance drop constraint maintenance_owner_check",
        only("maintenance", "true", "owner = ''"),
    ],
}  # fmt: skip
