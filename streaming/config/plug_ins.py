"""A task assignor of the user's own (KIP-924), by its class in Python."""

from typing import Annotated

from pydantic import AfterValidator, Field, field_serializer

from rebalance_monitor.streaming.core.model.settings import PLUG_IN_BUDGET_MS, PLUG_IN_MEMORY_MIB, PlugIn, Scalar
from .section import FromText, Section

MASK = "**********"
LONGEST_BUDGET_MS = 30_000
LEAST_MEMORY_MIB = 128


def _absolute(folder: str) -> str:
    if not folder.startswith("/"):
        raise ValueError("must be a folder from the root on, such as /etc/rebalance-monitor/plug-ins")
    return folder


def _named(name: str) -> str:
    module, colon, path = name.partition(":")
    if not name.strip() or (colon and not (module and path)):
        raise ValueError("must be module:Class, or the name of an entry point")
    return name


class PlugInSection(Section):
    """One plug-in, run in processes of its own: trusted code, which is kept from doing harm by mistake only.

    `name`: `module:Class`, or an entry point of the group `rebalance_monitor.task_assignors`. `path`: folders where it
    is looked for first. `configs`: what its `configure` is given. `budget_ms` of one call, and `memory_mib` of a
    process; one that needs more is ended.
    """

    name: Annotated[str, AfterValidator(_named)]
    path: Annotated[tuple[Annotated[str, AfterValidator(_absolute)], ...], FromText] = ()
    configs: Annotated[dict[str, Scalar], FromText] = Field(default_factory=dict)
    budget_ms: Annotated[int, Field(ge=10, le=LONGEST_BUDGET_MS)] = PLUG_IN_BUDGET_MS
    memory_mib: Annotated[int, Field(ge=LEAST_MEMORY_MIB, le=1 << 20)] = PLUG_IN_MEMORY_MIB

    @field_serializer("configs")
    def _masked(self, configs: dict[str, Scalar]) -> dict[str, str]:
        """Its keys: nobody knows what the values are."""
        return dict.fromkeys(configs, MASK)

    def core(self) -> PlugIn:
        return self.core_value(PlugIn, configs=tuple(sorted(self.configs.items())))
