"""`compare`: verdicts in which a shadow differs from the live job, over what both have judged."""

import argparse
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rebalance_monitor.streaming.config.settings import Settings
from .exit_codes import CANNOT_TELL, DONE, FOUND, InputError
from .opening import database_dsn, need, settings_from
from .output import print_json
from .shadow import LIVE, schema_name

if TYPE_CHECKING:
    from rebalance_monitor.streaming.store.compared import Compared, Divergence


def compare(arguments: argparse.Namespace) -> int:
    """0 nothing differs, 1 something does, 3 there is nothing that both have. InputError: no such schema."""
    shadow, output = schema_name(arguments.schema), arguments.output
    settings = settings_from(arguments.config)
    dsn = database_dsn(settings, arguments.config)
    need("run", "psycopg")
    from rebalance_monitor.streaming.store.compared import BothSchemas, NoSuchShadow
    from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable

    advice = "check database.dsn, that the server runs, and that the role may read both schemas"
    differ = 0
    try:
        with (
            closing(Database(dsn, settings.database.connect_timeout_ms, advice)) as database,
            database.transaction() as connection,
        ):
            comparison = BothSchemas(connection, shadow, _patience_ms(settings))
            compared = comparison.counts()
            for one in comparison.differences():
                differ += 1
                print_json(_object(one)) if output == "json" else print(_line(one, shadow))
    except DatabaseUnreachable as why:
        raise InputError(str(why)) from why
    except NoSuchShadow as why:
        which = "run" if str(why) == LIVE else f"run --shadow {shadow}"
        raise InputError(f"the schema {why} has no verdicts; start `rebalance-monitor {which}` once") from None
    _sum_up(compared, differ, output)
    if differ:
        return FOUND
    return DONE if compared.generations or compared.incidents else CANNOT_TELL


def _patience_ms(settings: Settings) -> int:
    """How long a finding may come after what it is about."""
    judge = settings.judge
    return judge.wait_ms + judge.status_lag_ms + judge.settle_ms + judge.start_wait_ms


def _object(one: "Divergence") -> dict[str, Any]:
    said = asdict(one)
    return {"kind": "difference", "of": said.pop("kind"), **said}


def _line(one: "Divergence", shadow: str) -> str:
    place = one.place
    match one.kind:
        case "generation":
            what = f"generation {place['generation']} ({place['topic']}-{place['partition']} at {place['offset']})"
        case "incident":
            what = f"incident {place['rule']} ({place['code']}, {place['incident_id']})"
        case _:
            what = f"finding {place['part']} of incident {place['incident_id']}"
    return f"{one.cluster} {one.group} {what}: live {_side(one.live)}; {shadow} {_side(one.shadow)}"


def _side(said: Any) -> str:
    if said is None:
        return "does not have it"
    if "grade" in said:
        return f"{said['grade']}{f' ({why})' if (why := said['reason'] or said['era']) else ''}"
    over = "" if said.get("resolved_at_ms", 0) is not None else ", open"
    return f"{said['severity']}, {said['certainty']}{over} ({said['message']})"


def _sum_up(compared: "Compared", differ: int, output: str) -> None:
    if output == "json":
        print_json({"kind": "comparison", **asdict(compared), "differences": differ})
        return
    for cluster in compared.polled:
        print(f"cluster {cluster} is polled, and not compared")
    if not compared.generations and not compared.incidents and not differ:
        print("there is nothing yet that both have")
        return
    print(f"{compared.generations} generations and {compared.incidents} incidents that both have: {differ} differences")
