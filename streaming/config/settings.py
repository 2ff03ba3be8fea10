"""The whole configuration, one attribute per section, and what `run` needs of it."""

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Annotated, Self

from pydantic import Field, model_validator

from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from .alerting import AlertingSection
from .client_properties import in_clear
from .clusters import ClusterSection
from .groups import GroupSection
from .maintenance import MaintenanceSection
from .metrics import MetricsSection
from .page import PageSection
from .section import FromText, Section
from .sections import (
    ANYWHERE,
    EXAMPLE,
    AuditSection,
    DatabaseSection,
    GapSection,
    HttpSection,
    JudgeSection,
    LagSection,
    PollingSection,
    ReadySection,
    SourceSection,
    SparkSection,
    StorageSection,
)

# Properties of librdkafka that say who a client is.
PRINCIPALS = ("sasl.username", "ssl.certificate.location", "ssl.keystore.location", "sasl.oauthbearer.client.id")


class Settings(Section):
    """Everything a user can set. Complete without a file, except for clusters and database, which `run` needs."""

    clusters: Annotated[tuple[Annotated[ClusterSection, FromText], ...], FromText] = ()
    database: DatabaseSection = Field(default_factory=DatabaseSection)
    source: SourceSection = Field(default_factory=SourceSection)
    judge: JudgeSection = Field(default_factory=JudgeSection)
    polling: PollingSection = Field(default_factory=PollingSection)
    lag: LagSection = Field(default_factory=LagSection)
    ready: ReadySection = Field(default_factory=ReadySection)
    gap: GapSection = Field(default_factory=GapSection)
    storage: StorageSection = Field(default_factory=StorageSection)
    http: HttpSection = Field(default_factory=HttpSection)
    page: PageSection = Field(default_factory=PageSection)
    alerting: AlertingSection = Field(default_factory=AlertingSection)
    metrics: MetricsSection = Field(default_factory=MetricsSection)
    audit: AuditSection = Field(default_factory=AuditSection)
    groups: Annotated[tuple[Annotated[GroupSection, FromText], ...], FromText] = ()
    maintenance: Annotated[tuple[Annotated[MaintenanceSection, FromText], ...], FromText] = ()
    spark: SparkSection = Field(default_factory=SparkSection)

    @model_validator(mode="after")
    def _names_once(self) -> Self:
        names = [cluster.name for cluster in self.clusters]
        for name in sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"two clusters are called {name!r}; give each its own name")
        return self

    @model_validator(mode="after")
    def _alerts_topic_apart(self) -> Self:
        """Who may write alerts must not be who reads the clusters: the monitor's principal never writes."""
        topic = self.alerting.kafka
        if topic is None:
            return self
        for cluster in self.clusters:
            for key in PRINCIPALS:
                if key in topic.client and in_clear(topic.client)[key] == in_clear(cluster.client).get(key):
                    raise ValueError(
                        f"alerting.kafka.client has the {key} of cluster {cluster.name!r}; the topic of alerts needs"
                        " credentials of its own, because the monitor's may only read"
                    )
            watched = {self.source.offsets_topic} | {
                one for section in cluster.connect.values() for one in (section.config_topic, section.status_topic)
            }
            if topic.topic in watched:
                raise ValueError(f"alerting.kafka.topic {topic.topic!r} is a topic that is watched; give it another")
        return self

    def core_clusters(self) -> dict[str, ClusterSettings]:
        """Each cluster by name, as the fold sees it."""
        damping = {name: one.core() for name, one in self.alerting.damping.items()}
        return {
            cluster.name: replace(
                cluster.core(),
                judge_wait_ms=self.judge.wait_ms,
                **self.judge.model_dump(exclude={"wait_ms"}),
                damping=damping,
                owners=tuple(one.core() for one in self.groups_of(cluster.name)),
            )
            for cluster in self.clusters
        }

    def groups_of(self, cluster: str) -> tuple[GroupSection, ...]:
        """The entries that may count for groups of this cluster, in their order."""
        return tuple(one for one in self.groups if fnmatchcase(cluster, one.cluster))


def lacking(settings: Settings) -> list[str]:
    """One sentence for each reason why `run` would refuse these settings; empty where it would start."""
    problems = []
    if not settings.clusters:
        problems.append("clusters is empty, so there is nothing to watch; list at least one cluster")
    if settings.database.dsn is None:
        problems.append(f"database.dsn is missing; {EXAMPLE}")
    http, page = settings.http, settings.page
    if page.enabled and http.port == page.port and (http.host == page.host or {http.host, page.host} & ANYWHERE.keys()):
        problems.append(f"http.port and page.port are both {page.port}; give one of them another port")
    return problems
