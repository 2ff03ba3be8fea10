"""What an audit found, and the JSON objects that tell of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

ContractOutcome = Literal["kept", "broken", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractResult:
    """One contract after an audit. `rows` break it, `examples` are the keys of a few; `why` it could not be told."""

    table: str
    contract: str
    says: str
    outcome: ContractOutcome
    rows: int = 0
    examples: tuple[Mapping[str, Any], ...] = ()
    why: str | None = None


@dataclass(frozen=True, slots=True)
class AuditReport:
    """One audit, in the order of the suites."""

    findings: tuple[ContractResult, ...]

    def of(self, outcome: ContractOutcome) -> tuple[ContractResult, ...]:
        return tuple(one for one in self.findings if one.outcome == outcome)


def finding_object(result: ContractResult) -> dict[str, Any]:
    """One contract as `audit -o json` prints it."""
    return {
        "kind": "contract",
        "table": result.table,
        "contract": result.contract,
        "says": result.says,
        "outcome": result.outcome,
        "rows": result.rows,
        "examples": [dict(example) for example in result.examples],
        "why": result.why,
    }


def summary_object(report: AuditReport) -> dict[str, Any]:
    """The sums, last: what the job's metrics are made from."""
    return {
        "kind": "audit",
        "contracts": len(report.findings),
        "broken": len(report.of("broken")),
        "unknown": len(report.of("unknown")),
    }
