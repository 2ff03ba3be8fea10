"""The task assignors of applications' own (KIP-924) that cases are solved with in place of Kafka's.

A case belongs to the application that its input names (`applicationId`). `plan` tells nobody what it computed: the
plug-in's `on_assignment_computed` is not called.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_monitor.streaming.core.model.settings import PlugIn
from rebalance_monitor.streaming.core.streams.plug_ins import NO_PLUG_INS, PlugInRun, PlugIns, sentence_of


@dataclass(slots=True)
class OwnAssignors:
    """`by_application`: the plug-in of each application.id that has one; `runs` runs them. `failed`: one of them has
    given no answer that can be used."""

    by_application: Mapping[str, PlugIn]
    runs: PlugIns
    failed: bool = False

    def of(self, given: Mapping[str, object]) -> PlugInRun | None:
        """The plug-in of the application that this input names, ready for one round; None where there is none."""
        name = given.get("applicationId")
        found = self.by_application.get(name) if isinstance(name, str) else None
        if found is None:
            return None
        self.runs.begin(found)
        return PlugInRun(found, self.runs)

    def failure_of(self, run: PlugInRun | None) -> str | None:
        """Why the plug-in gave no answer that can be used; None where it gave one, or none was run."""
        if run is None or run.failure is None:
            return None
        self.failed = True
        return sentence_of(run.plug_in, run.failure)


def none() -> OwnAssignors:
    """All applications have Kafka's assignors."""
    return OwnAssignors({}, NO_PLUG_INS)
