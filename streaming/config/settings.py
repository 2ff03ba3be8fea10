"""The whole configuration, one attribute per section."""

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Annotated, Self

from pydantic import Field, model_validator

from streaming.config.alerting import AlertingSection
from streaming.config.clusters import ClusterSection
from streaming.config.database import DatabaseSection
from streaming.config.http import HttpSection
from streaming.config.judge import JudgeSection
from streaming.config.owners import MaintenanceSection, OwnerSection
from streaming.config.page import PageSection
from streaming.config.section import FromText, Section
from streaming.config.source import SourceSection
from streaming.config.spark import SparkSection
from streaming.core.settings import ClusterSettings


class Settings(Section):
    """Everything a user can set. Complete without a file, except for clusters and database, which `run` needs."""

    clusters: Annotated[tuple[Annotated[ClusterSection, FromText], ...], FromText] = ()
    database: DatabaseSection = Field(default_factory=DatabaseSection)
    source: SourceSection = Field(default_factory=SourceSection)
    judge: JudgeSection = Field(default_factory=JudgeSection)
    http: HttpSection = Field(default_factory=HttpSection)
    page: PageSection = Field(default_factory=PageSection)
    alerting: AlertingSection = Field(default_factory=AlertingSection)
    owners: Annotated[tuple[Annotated[OwnerSection, FromText], ...], FromText] = ()
    maintenance: Annotated[tuple[Annotated[MaintenanceSection, FromText], ...], FromText] = ()
    spark: SparkSection = Field(default_factory=SparkSection)

    @model_validator(mode="after")
    def _names_once(self) -> Self:
        names = [cluster.name for cluster in self.clusters]
        for name in sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"two clusters are called {name!r}; give each its own name")
        return self

    def core_clusters(self) -> dict[str, ClusterSettings]:
        """Each cluster by name, as the fold sees it."""
        damping = {name: one.core() for name, one in self.alerting.damping.items()}
        return {
            cluster.name: replace(
                cluster.core(self.judge.wait_ms),
                status_lag_ms=self.judge.status_lag_ms,
                settle_ms=self.judge.settle_ms,
                start_wait_ms=self.judge.start_wait_ms,
                damping=damping,
                owners=tuple(one.core() for one in self.owners if fnmatchcase(cluster.name, one.cluster)),
            )
            for cluster in self.clusters
        }
