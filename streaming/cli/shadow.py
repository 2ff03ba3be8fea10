"""A shadow: a job that judges beside the live one into a schema of its own, and of which nobody is notified."""

import re

from rebalance_monitor.streaming.config.settings import Settings
from .exit_codes import InputError

LIVE = "rebalance_monitor"
NOT_OURS = ("public", "information_schema")


def schema_name(text: str) -> str:
    """The name of a shadow's schema. InputError for one that is none, or that is somebody else's."""
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", text):
        raise InputError(f"{text!r} is no name for a schema; use small letters, digits and _, such as candidate")
    if text == LIVE:
        raise InputError(f"{LIVE} is the schema of the live job; give the shadow one of its own, such as candidate")
    if text in NOT_OURS or text.startswith("pg_"):
        raise InputError(f"the schema {text} belongs to PostgreSQL or to all; give the shadow one of its own")
    return text


def shadow_dsn(dsn: str, schema: str | None) -> str:
    """The connection text whose sessions work in this schema; None: in the live one."""
    from psycopg import ProgrammingError

    from rebalance_monitor.streaming.store.schema import in_schema

    try:
        return dsn if schema is None else in_schema(dsn, schema)
    except ProgrammingError:
        return dsn  # whoever connects says what is wrong with it


def shadowed(settings: Settings) -> Settings:
    """The live job's settings as its shadow has them: it judges by the same ones, notifies nobody, archives nothing,
    and takes no address and no folder of the live job."""
    alone: dict[str, object] = {"path": "prometheus", "webhooks": (), "kafka": None, "heartbeat_url": None}
    return settings.model_copy(
        update={
            "alerting": settings.alerting.model_copy(update=alone),
            "storage": settings.storage.model_copy(update={"archive": None}),
            "http": settings.http.model_copy(update={"port": 0}),
            "page": settings.page.model_copy(update={"enabled": False}),
            "audit": settings.audit.model_copy(update={"every_ms": None}),
            "spark": settings.spark.model_copy(update={"checkpoint_dir": None}),
        }
    )
