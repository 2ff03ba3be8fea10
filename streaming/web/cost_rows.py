"""How the words by which costs are split are asked of the table `costs`: as `core.costs.entry_of` makes them."""

from typing import LiteralString

from rebalance_monitor.streaming.core.tables import COST_COLUMNS

# As Python names days and moments; PostgreSQL's own functions fail at what is in no calendar.
_DATE: LiteralString = (
    "case when day between -719162 and 2932896 then to_char(date '1970-01-01' + day, 'YYYY-MM-DD')"
    " else 'day ' || day end"
)
_MOMENT: LiteralString = (
    "case when at_ms between -62135596800000 and 253402300799999 then to_char(to_timestamp(floor(at_ms / 1000.0))"
    " at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC' else at_ms || ' ms' end"
)
WORDS: dict[str, str] = {
    "cluster": "cluster",
    "group": '"group"',
    "connector": "coalesce(connector, '')",
    "cause": "cause",
    "month": f"left({_DATE}, 7)",
    "day": _DATE,
    "rebalance": f"coalesce({_MOMENT} || ' generation ' || generation, '')",
}
_SUMS = ", ".join(f"sum({name})::int8" for name in ("rebalances", *(column.name for column in COST_COLUMNS)))


def statement(words: tuple[str, ...], conditions: list[LiteralString]) -> tuple[bytes, int]:
    """The sums of each combination of these words, all of it where there is none; by connector also what all of it
    costs, with null for each word: rebalances do not add up there. How often the conditions' parameters are taken; the
    last parameter is the limit."""
    where = f" where {' and '.join(conditions)}" if conditions else ""
    chosen = "".join(f"{WORDS[word]}, " for word in words)
    grouped = f" group by {', '.join(str(at + 1) for at in range(len(words)))}" if words else ""
    table = "connector_costs" if "connector" in words else "costs"
    each = f"select {chosen}{_SUMS} from rebalance_monitor.{table}{where}{grouped}"
    if table == "costs":
        return f"{each} limit %s".encode(), 1
    whole = f"select {'null, ' * len(words)}{_SUMS} from rebalance_monitor.costs{where}"
    return f"{each} union all {whole} limit %s".encode(), 2
