"""Sections of a few keys each: addresses, limits, intervals and patience."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, SecretStr

from rebalance_monitor.streaming.core.model.settings import (
    CRASH_LOOP_MS,
    CRASH_LOOP_RETURNS,
    JUDGE_WAIT_MS,
    RESTART_LOOP_CHANGES,
    RESTART_LOOP_MS,
    SETTLE_MS,
    START_WAIT_MS,
    STATUS_LAG_MS,
)
from .kafka import TopicName
from .section import LONGEST_MS, AnyMilliseconds, FromText, HostName, Milliseconds, Pattern, Port, Section, shaped

ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""What listens on all addresses is asked on this one."""


def reached_at(host: str, port: int, *, tls: bool) -> str:
    """Where from this machine to ask what listens there."""
    host = ANYWHERE.get(host, host)
    scheme = "https" if tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


class TlsSection(Section):
    """Files of a server's certificate, in PEM form. `certificate`: the server's own comes first, after it those that
    lead to its authority; `key`: without a passphrase."""

    certificate: Path
    key: Path


class HttpSection(Section):
    """Loopback unless told otherwise: the pages name groups and hosts. `tls` None: plain HTTP."""

    host: HostName = "127.0.0.1"
    port: Port = 9470
    tls: Annotated[TlsSection | None, FromText] = None

    @property
    def reached_at(self) -> str:
        """The job's own endpoint, seen from this machine."""
        return reached_at(self.host, self.port, tls=self.tls is not None)


EXAMPLE = "give a PostgreSQL connection text such as postgresql://monitor@db/monitor"


def _given(text: SecretStr) -> SecretStr:
    """An empty one is what a script leaves where the secret is missing; libpq would take its own defaults for it."""
    if not text.get_secret_value().strip():
        raise ValueError(f"is empty; {EXAMPLE}")
    scheme, found, _ = text.get_secret_value().strip().partition("://")
    if found and scheme not in ("postgresql", "postgres") and "=" not in scheme:
        raise ValueError(f"is no connection text of PostgreSQL; {EXAMPLE}")
    return text


Dsn = Annotated[SecretStr, AfterValidator(_given)]
"""PostgreSQL's connection text, as an URL or as keys and values."""


class DatabaseSection(Section):
    """PostgreSQL. The connection texts are secrets because they may carry a password.

    `maintenance_dsn`: the role that `rebalance-monitor maintenance` writes as; None: the monitor's own.
    """

    dsn: Dsn | None = None
    maintenance_dsn: Dsn | None = None
    connect_timeout_ms: Milliseconds = 5_000
    undecodable_kept: Annotated[int, Field(ge=0)] = 100


class AuditSection(Section):
    """The audit of what is published, in a process of its own; needs the extra [audit].

    `every_ms` None: `run` never audits. `timeout_ms`: an audit of `run` that takes longer is killed.
    `dsn`: a role that may only read; None: the monitor's own, read-only."""

    every_ms: Milliseconds | None = 3_600_000
    timeout_ms: Milliseconds = 900_000
    statement_timeout_ms: Milliseconds = 60_000
    dsn: Dsn | None = None
    data_docs_dir: Path | None = None


_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def seconds(text: str) -> int:
    """90m, 2h, 1d12h: whole numbers with s, m, h or d. ValueError."""
    if not re.fullmatch(r"([0-9]{1,9}[smhd])+", text):
        raise ValueError("must be a time such as 90m, 2h or 1d12h")
    return sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"([0-9]+)([smhd])", text))


def _duration(text: str) -> str:
    seconds(text)
    return text


class GapSection(Section):
    """A gap is shown until somebody acknowledges it, or for so long."""

    shown_for: Annotated[str, AfterValidator(_duration)] = "7d"

    def shown_for_s(self) -> int:
        return seconds(self.shown_for)


def _a_day_at_least(text: str) -> str:
    if seconds(text) < _SECONDS["d"]:
        raise ValueError("must be a day (1d) or longer")
    return text


DayOrLonger = Annotated[str, AfterValidator(_duration), AfterValidator(_a_day_at_least)]


class StorageSection(Section):
    """How long history stays. `keep`: generations, members and incidents that are over; `max_bytes`: of all tables, the
    oldest days go first; `summaries`: counts of days that were cut; `archive`: where days go before they are cut."""

    keep: DayOrLonger = "30d"
    max_bytes: Annotated[int, Field(ge=100_000_000)] = 20 * 2**30
    summaries: DayOrLonger = "730d"
    archive: Annotated[str, shaped(r"(/|[a-z0-9]+://)\S+", "a path such as /archive, or s3://bucket/folder")] | None = (
        None
    )

    def keep_days(self) -> int:
        return seconds(self.keep) // _SECONDS["d"]

    def summary_days(self) -> int:
        return seconds(self.summaries) // _SECONDS["d"]


class JudgeSection(Section):
    """How long a generation may wait for records of other topics before it is final as not judged.

    `status_lag_ms`: how far behind the clock statuses are told, for clocks differ; `settle_ms`: after a generation,
    until its last word; `start_wait_ms`: how long a worker may take to start what it holds (CONNECT-K4). More than
    `restart_loop_changes` changes of one task between FAILED, RESTARTING and RUNNING within `restart_loop_ms` are a
    restart loop (CONNECT-K20). A member of a group that comes back `crash_loop_returns` times within `crash_loop_ms` is
    in a crash loop (GROUP-G5).
    """

    wait_ms: AnyMilliseconds = JUDGE_WAIT_MS
    status_lag_ms: AnyMilliseconds = STATUS_LAG_MS
    settle_ms: AnyMilliseconds = SETTLE_MS
    start_wait_ms: AnyMilliseconds = START_WAIT_MS
    restart_loop_changes: Annotated[int, Field(ge=1, le=1_000)] = RESTART_LOOP_CHANGES
    restart_loop_ms: Annotated[int, Field(ge=1_000, le=LONGEST_MS)] = RESTART_LOOP_MS
    crash_loop_returns: Annotated[int, Field(ge=2, le=100)] = CRASH_LOOP_RETURNS
    crash_loop_ms: Annotated[int, Field(ge=60_000, le=LONGEST_MS)] = CRASH_LOOP_MS


class PollingSection(Section):
    """`topics`: whether brokers are asked for partition counts and racks, every `topics_every_ms` at least;
    `group_states`: whether they are asked which groups rebalance, every `group_states_every_ms`; `groups_every_ms`: how
    often for all groups, on a cluster whose source is `poll`; `progress`: whether they are asked for committed offsets
    and end offsets, every `progress_every_ms`, of groups that match `progress_groups` (all, unless restricted) and of
    groups with an open incident."""

    topics: bool = True
    topics_every_ms: Annotated[int, Field(ge=1_000, le=300_000)] = 30_000
    group_states: bool = True
    group_states_every_ms: Annotated[int, Field(ge=1_000, le=300_000)] = 10_000
    groups_every_ms: Annotated[int, Field(ge=1_000, le=300_000)] = 10_000
    progress: bool = True
    progress_every_ms: Annotated[int, Field(ge=1_000, le=300_000)] = 30_000
    progress_groups: Annotated[tuple[Pattern, ...], FromText] = ("*",)


class LagSection(Section):
    """`from`: where committed offsets are from: what brokers say when asked, or the commits that stand in the log."""

    model_config = ConfigDict(serialize_by_alias=True)
    from_: Annotated[Literal["poll", "log"], Field(alias="from")] = "poll"


class ReadySection(Section):
    """When the monitor calls itself ready.

    `max_lag_s`: while everything is committed up to the end offsets of so many seconds ago.
    """

    max_lag_s: Annotated[float, Field(ge=1, le=3600)] = 10.0


class SourceSection(Section):
    """Limits and intervals of the reader. The byte limit protects the brokers while the job catches up."""

    offsets_topic: TopicName = "__consumer_offsets"
    max_bytes_per_second_per_broker: Annotated[int, Field(gt=0)] = 10_000_000
    heartbeat_ms: Milliseconds = 10_000
    poll_max_ms: Milliseconds = 500
    read_timeout_ms: Milliseconds = 10_000


MASTER = (
    r"^(local(\[(\d+|\*)(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|spark://[^\s/]+:\d+(,[^\s/]+:\d+)*|yarn|k8s://\S+)$"
)
"""Where Spark runs, in the forms that Spark knows."""


KEYS_OF_THEIR_OWN = {"spark.master": "spark.master", "spark.driver.memory": "spark.driver_memory"}
"""Properties of Spark that a key of the section gives."""


def _text(value: object) -> object:
    """A number or a truth value as Spark writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _properties(conf: dict[str, str]) -> dict[str, str]:
    for name in conf:
        if not name.startswith("spark."):
            raise ValueError(f"{name} is no property of Spark: their names begin with spark.")
        if name in KEYS_OF_THEIR_OWN:
            raise ValueError(f"{name} stands here and has a key of its own; set {KEYS_OF_THEIR_OWN[name]}")
    return conf


class SparkSection(Section):
    """Spark's own settings. The checkpoint is disposable: progress lives in the database. `conf`: properties as Spark
    names them, over those that the job sets by itself, and under those of a `spark-submit` that starts it."""

    master: Annotated[str, Field(pattern=MASTER)] = "local[2]"
    driver_memory: Annotated[str, shaped(r"\d+[kmgKMG]", "a number with its unit, such as 900m or 2g")] = "900m"
    trigger_ms: Milliseconds = 100
    conf: Annotated[dict[str, Annotated[str, BeforeValidator(_text)]], AfterValidator(_properties), FromText] = Field(
        default_factory=dict
    )
    checkpoint_dir: str | None = None
    java_home: str | None = None
