"""Alerts about the monitor itself: what each says, how it is confirmed, and what to do.

Critical is only what makes the monitor blind. The expressions are in `dashboards.monitor_alerts`; the page shows the
texts at /runbook. In the texts `{{ … }}` is a template of Prometheus.
"""

import re
from dataclasses import dataclass

from .rule import Check
from .step import Step, in_place, looks


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAlert:
    """One alert about the monitor. `hold`: how long its expression must be true (Prometheus duration, empty: not at
    all).
    """

    name: str
    severity: str
    summary: str
    description: str
    hold: str = ""
    confirm: tuple[Check, ...] = ()
    advice: tuple[Step, ...]
    resolves: str


_READYZ = Check("curl -s http://$MONITOR/readyz", "which cluster is not read and why, in one sentence each")
_PARTS = Check("curl -s http://$MONITOR/readyz", "under `parts` each part that fails, and why")
_DEGRADED = Check("curl -s http://$MONITOR/readyz", "under `degraded` each topic that is not read, and why")
_REACHED = Check(
    "kafka-broker-api-versions.sh --bootstrap-server $BROKERS --command-config monitor.properties",
    "one line per broker; an error here, with the monitor's own credentials, is the monitor's trouble too",
)
_END = Check(
    "kafka-get-offsets.sh --bootstrap-server $BROKERS --topic __consumer_offsets --time -1",
    "the ends of all partitions; compare with `select topic, partition, next_offset from rebalance_monitor.positions`",
)
WHILE_BLIND = OwnAlert(
    name="RebalanceIncidentWhileBlind",
    severity="info",
    summary="{{ $labels.rule }} in group {{ $labels.group }} came up while {{ $labels.cluster }} was not read",
    description="A mark for Alertmanager, not for people: this incident was opened by the clock alone, while the "
    "cluster could not be read. People are notified when the cluster is read again and the incident is still open.",
    advice=(looks("Look after the cluster first: `RebalanceMonitorClusterNotReady`."),),
    resolves="When the cluster is read to its end again: then the incident is either resolved or notified.",
)
ABSENT = OwnAlert(
    name="RebalanceMonitorAbsent",
    hold="5m",
    severity="critical",
    summary="No rebalance monitor is scraped{{ with $labels.cluster }} for cluster {{ . }}{{ end }}",
    description="Prometheus has seen no heartbeat for 5 minutes: the monitor is down, it hangs, its target is "
    "gone, or it runs and has never committed anything. What fired for this cluster goes on to fire for a day.",
    confirm=(
        Check("curl -s http://$MONITOR/metrics | grep heartbeat", "nothing, or 0 for `never committed`"),
        Check("curl -s http://$PROMETHEUS/api/v1/targets", "the monitor's target missing or down"),
    ),
    advice=(
        looks(
            "Is the process running? Its last log line says in one sentence why it ended. After a kill there is none: "
            "look for it in the log of the machine, for example for the end of its memory."
        ),
        looks(
            "Ask whether it could start: this names mistakes in its configuration, and brokers or a database that do "
            "not answer.",
            "rebalance-monitor config check --config $CONFIG --connect",
        ),
        in_place("Start it again: nothing is lost, because all progress is in the database."),
        looks("If `/metrics` answers, its address is missing among Prometheus' targets."),
        looks("Until it is back, alerts that fire go on to fire, for a day at most, and nothing new is found."),
        looks(
            "A monitor that was removed on purpose is forgotten by a recording rule `rebalance_monitor:retired` "
            "with its cluster's name (docs/alerts.md), or by itself a day after its last scrape."
        ),
    ),
    resolves="With the first heartbeat after a commit, seconds after a start.",
)
STALE = OwnAlert(
    name="RebalanceMonitorStale",
    hold="1m",
    severity="critical",
    summary="The rebalance monitor of cluster {{ $labels.cluster }} has stopped judging",
    description="The last heartbeat is more than 2 minutes old, although one is due every 10 s.",
    confirm=(
        _READYZ,
        Check(
            "psql \"$DSN\" -c 'select cluster, epoch, claimed_at from rebalance_monitor.writer'",
            "a fresh `claimed_at`: a second monitor took over and this one stood down",
        ),
    ),
    advice=(
        looks(
            "The process answers but commits no batch; `/readyz` and its log name the reason. The usual ones are "
            "brokers or a database that do not answer, and a second writer that took over."
        ),
        in_place(
            "When brokers and database answer again, it goes on by itself. Restart it only if `/readyz` names neither: "
            "nothing is lost."
        ),
    ),
    resolves="With the next committed batch or empty heartbeat.",
)
BLIND = OwnAlert(
    name="RebalanceMonitorBlind",
    hold="1m",
    severity="critical",
    summary="Cluster {{ $labels.cluster }} cannot be judged: its offsets topic cannot be read",
    description="`__consumer_offsets` is gone, or the monitor may not read it any more. Until it can be read, "
    "nothing is found and nothing resolves.",
    confirm=(
        _READYZ,
        Check("kafka-topics.sh --bootstrap-server $BROKERS --describe --topic __consumer_offsets", "no such topic"),
        Check(
            "kafka-acls.sh --bootstrap-server $BROKERS --list --topic __consumer_offsets",
            "no line that lets the monitor's principal describe and read it",
        ),
    ),
    advice=(
        in_place("Grant the monitor's principal Describe and Read on `__consumer_offsets` again."),
        looks(
            "A topic that was deleted is made anew by Kafka with the next group that joins; what the monitor had "
            "not read of the old one is in the table `gaps`."
        ),
    ),
    resolves="When the topic can be read.",
)
CLUSTER_NOT_READY = OwnAlert(
    name="RebalanceMonitorClusterNotReady",
    hold="10m",
    severity="critical",
    summary="Cluster {{ $labels.cluster }} cannot be read to its end, so it is not judged",
    description="For 10 minutes the cluster has been unreachable or not read up to its end. What was open "
    "goes on firing; what the clock opens meanwhile is suppressed.",
    confirm=(_READYZ, _REACHED, _END),
    advice=(
        looks(
            "If no broker answers, look after the brokers or the network first: the monitor tries again by itself, at "
            "least every 30 s."
        ),
        looks(
            "*Records not yet read* in the monitor's dashboard tells which it is: a falling line is a catch-up and "
            "needs nothing; a missing or rising one is a broker, network or permission problem."
        ),
        in_place(
            "After a catch-up of hours, give it more of the brokers' bandwidth: "
            "`source.max_bytes_per_second_per_broker`."
        ),
    ),
    resolves="As soon as every topic of the cluster is read to its end.",
)
DEGRADED = OwnAlert(
    name="RebalanceMonitorDegraded",
    hold="15m",
    severity="warning",
    summary="Cluster {{ $labels.cluster }} is only partly judged",
    description="A topic, partition or permission is missing, and what depends on it is not judged: "
    "{{ $labels.reason }}. Everything else is judged.",
    confirm=(
        _DEGRADED,
        Check("kafka-topics.sh --bootstrap-server $BROKERS --describe --topic $TOPIC", "no such topic"),
        Check(
            "kafka-acls.sh --bootstrap-server $BROKERS --list --topic $TOPIC",
            "no line that lets the monitor's principal describe and read it",
        ),
    ),
    advice=(
        in_place("Grant the monitor's principal Describe and Read on the topic."),
        in_place(
            "A wrong guess of a Connect group's topics is mended by "
            "`clusters[].connect.<group>.config_topic` and `status_topic`."
        ),
    ),
    resolves="When the topic can be read.",
)
GAP = OwnAlert(
    name="RebalanceMonitorGap",
    severity="warning",
    summary="Records of {{ $labels.topic }} in {{ $labels.cluster }} were gone before they were read",
    description="What the lost records contained is unknown, so groups with records there may be judged with less "
    "certainty. New records are read and judged. The offsets are in the table gaps.",
    confirm=(
        Check("rebalance-monitor gaps list --config $CONFIG", "each gap with its offsets, its reason and when"),
        Check(
            "kafka-get-offsets.sh --bootstrap-server $BROKERS --topic $TOPIC --time -2",
            "the earliest offset there is, beyond the gap's end in `rebalance_monitor.gaps`",
        ),
    ),
    advice=(
        looks(
            "The topic was deleted or made anew, or its retention was faster than the reader: nothing can bring "
            "the records back."
        ),
        in_place("Take note of it; the alert then ends.", "rebalance-monitor gaps acknowledge --config $CONFIG"),
        in_place("If it happens during a catch-up, raise `source.max_bytes_per_second_per_broker`."),
    ),
    resolves="When the gaps are acknowledged, or older than `gap.shown_for`.",
)
PART_FAILING = OwnAlert(
    name="RebalanceMonitorPartFailing",
    hold="10m",
    severity="warning",
    summary="The part {{ $labels.part }} of the monitor of {{ $labels.cluster }} fails",
    description="The part is tried again, or started anew, ever later; everything else goes on.",
    confirm=(_PARTS,),
    advice=(
        looks(
            "`/readyz` says under `parts` why it fails: a right that is missing, an address that does not answer. The "
            "log line `part_failed` has the place in the code, or the stacks of a process that hung."
        ),
        in_place(
            "Mend what the sentence names; the part is tried again by itself. Restart the monitor only if a part hangs."
        ),
    ),
    resolves="When the part works again.",
)
ROWS_REFUSED = OwnAlert(
    name="RebalanceMonitorRowsRefused",
    severity="warning",
    summary="PostgreSQL refused rows of the table {{ $labels.table }} for {{ $labels.cluster }}",
    description="The refused rows are not stored; everything else of their batch is. The log line row_refused names "
    "each.",
    confirm=(Check("curl -s http://$MONITOR/metrics | grep refused_rows", "how many rows of which table"),),
    advice=(
        in_place(
            "The monitor should have made the value fit its column: report it with the table, the key and the "
            "error in the log line `row_refused`."
        ),
    ),
    resolves="15 minutes after the last such row.",
)
AUDIT_FAILED = OwnAlert(
    name="RebalanceMonitorAuditFailed",
    hold="5m",
    severity="warning",
    summary="The published tables of cluster {{ $labels.cluster }} do not keep their contracts",
    description="The last audit found expectations broken, or could not be made. History that was queried "
    "meanwhile may be wrong; the judging of new records does not depend on it.",
    confirm=(Check("rebalance-monitor audit --config $CONFIG", "each expectation that is not met, and where"),),
    advice=(
        looks("Run the audit by hand: it names the table and the expectation, or why it could not be made."),
        in_place("Rows that somebody changed by hand can be made again: restore them, or replay the topics' records."),
        looks("If nobody touched the tables, keep the rows it names: they are what a report needs."),
    ),
    resolves="With the next audit in which every expectation is met.",
)
NOTIFICATIONS_STUCK = OwnAlert(
    name="RebalanceMonitorNotificationsStuck",
    hold="10m",
    severity="warning",
    summary="A receiver does not accept the notifications about cluster {{ $labels.cluster }}",
    description="Notifications wait for the receiver, so people may not know of open incidents. They are kept, and "
    "sent in order once it takes them.",
    confirm=(
        Check(
            "psql \"$DSN\" -c 'select key, created_at from rebalance_monitor.outbox where not done order by sequence'",
            "what waits, oldest first",
        ),
        Check("curl -s http://$ALERTMANAGER/-/ready", "something else than `OK`, if it is the Alertmanager"),
    ),
    advice=(
        looks("Look at the open incidents on the monitor's page: people were not notified of the latest ones."),
        looks(
            "The monitor's log names the receiver that accepts nothing, and why: an Alertmanager (`alerting.path: "
            "push`), a webhook or the topic of alerts. The others get everything meanwhile."
        ),
        in_place(
            "Make it answer, or take it out of `alerting` and restart the monitor. Nothing is lost: everything "
            "waits in `rebalance_monitor.outbox` and is sent in order."
        ),
    ),
    resolves="When the outbox is empty, or 15 minutes after the last failed attempt.",
)
DATABASE_FULL = OwnAlert(
    name="RebalanceMonitorDatabaseFull",
    hold="2h",
    severity="warning",
    summary="The database of cluster {{ $labels.cluster }} is larger than storage.max_bytes",
    description="Days of history are cut once an hour while the database is above its limit. This one stays above it: "
    "a day cannot be archived, or what is kept of today alone is too much.",
    confirm=(
        Check(
            "psql \"$DSN\" -c 'select * from rebalance_monitor.cuts order by day desc limit 5'",
            "the days that were cut last, and why; none of today if the cut fails",
        ),
        Check("curl -s http://$MONITOR/readyz", "under `parts` the part `history`, if a day cannot be archived"),
    ),
    advice=(
        looks("The dashboard of the monitor's health shows which table has grown, and since when."),
        in_place("Make room where `storage.archive` leads, if that is what fails."),
        in_place("Or raise `storage.max_bytes` to what the disk can bear, or lower `storage.keep`."),
    ),
    resolves="When the database is below its limit again.",
)
NOTIFICATIONS_REFUSED = OwnAlert(
    name="RebalanceMonitorNotificationsRefused",
    severity="warning",
    summary="A receiver refuses the notifications about cluster {{ $labels.cluster }}",
    description="Notifications were refused for good, so their receiver was not notified. "
    "They are not sent again; the table outbox_sent has the receiver and its answer.",
    confirm=(
        Check(
            'psql "$DSN" -c \'select sent_at, url, key, refused from rebalance_monitor.outbox_sent'
            " where refused is not null order by sent_at desc limit 5'",
            "the latest ones: receiver, incident and transition, and what was answered",
        ),
    ),
    advice=(
        looks("Look at the open incidents on the monitor's page: some people may not know of them."),
        looks(
            "An answer 400 or 422 means that another program than the expected one listens there, or another "
            "version of it: compare the address in `alerting`. 413 and MSG_SIZE_TOO_LARGE are its limits."
        ),
    ),
    resolves="15 minutes after the last refusal.",
)
UNEXPLAINED = OwnAlert(
    name="RebalanceMonitorUnexplained",
    severity="info",
    summary="Unexplained assignment in group {{ $labels.group }} of {{ $labels.cluster }}",
    description="No known assignor gives the assignment of this generation for what the log shows.",
    confirm=(
        Check(
            'psql "$DSN" -c "select cluster, \\"group\\", generation, to_timestamp(at_ms / 1000), reason '
            "from rebalance_monitor.generations where grade = 'unexplained' order by at_ms desc limit 5\"",
            "the latest ones, with what differs",
        ),
    ),
    advice=(
        looks("Nothing is urgent: an open incident of the group has an alert of its own if somebody is harmed."),
        looks(
            "Look at the generation on the group's page, or in the dashboard of one rebalance: it shows what was "
            "observed and what was expected."
        ),
        looks(
            "A leader of a release that the configuration does not name is the commonest reason: set "
            "`clusters[].connect.<group>.release`; a client that brings its own assignor is another."
        ),
    ),
    resolves="15 minutes after the last such generation.",
)
UNDECODABLE = OwnAlert(
    name="RebalanceMonitorUndecodable",
    severity="info",
    summary="Undecodable records in {{ $labels.cluster }}",
    description="Kafka's own reader would reject these records ({{ $labels.reason }}); "
    "the first ones are kept in the table undecodable.",
    confirm=(
        Check(
            'psql "$DSN" -c \'select reason, topic, partition, "offset" from rebalance_monitor.undecodable '
            "order by reason limit 20'",
            "the first records of each reason, with the coordinates for the next command",
        ),
        Check(
            "kafka-console-consumer.sh --bootstrap-server $BROKERS --topic $TOPIC --partition $PARTITION "
            "--offset $OFFSET --max-messages 1 --timeout-ms 10000",
            "the record, if the topic still has it",
        ),
    ),
    advice=(
        looks("Records were counted and passed over; groups they belong to may lack a generation."),
        looks("`rebalance-monitor decode` says at which byte Kafka's own reader would stop."),
    ),
    resolves="15 minutes after the last such record.",
)
GROUPS_HIDDEN = OwnAlert(
    name="RebalanceMonitorGroupsHidden",
    hold="15m",
    severity="info",
    summary="More groups in {{ $labels.cluster }} than have series",
    description="{{ $value }} groups are beyond metrics.max_groups: they are judged, and people are notified, but "
    "they have no series of their own until they have an incident.",
    confirm=(Check("kafka-groups.sh --bootstrap-server $BROKERS --list | wc -l", "how many groups there are"),),
    advice=(
        in_place("Raise `metrics.max_groups` if Prometheus can bear it."),
        in_place("Or add patterns of throw-away groups to `metrics.ignored_groups`."),
    ),
    resolves="When the groups fit again.",
)
OWN_ALERTS = tuple(one for one in vars().values() if isinstance(one, OwnAlert))
"""Every alert about the monitor, the mark of a blind moment first."""


def readable(template: str) -> str:
    """Text of an alert with the names of its labels in the place of their values."""
    whole = re.sub(
        r"\{\{ with \$labels\.(\w+) \}\}(.*?)\{\{ end \}\}",
        lambda found: found[2].replace("{{ . }}", f"*{found[1]}*"),
        template,
    )
    return re.sub(r"\{\{ \$(?:labels\.)?(\w+)[^}]*\}\}", r"*\1*", whole)
