"""`config check`: is the configuration sound, and what does it amount to."""

from streaming.cli.exit_codes import DONE
from streaming.cli.opening import settings_from
from streaming.cli.output import print_json


def config_check(path: str | None, *, output: str) -> int:
    """Print what was understood, secrets masked. InputError says what is wrong."""
    settings = settings_from(path)
    if output == "json":
        print_json(settings.model_dump(mode="json"))
    else:
        names = ", ".join(cluster.name for cluster in settings.clusters)
        print(f"{path or 'defaults and environment'}: sound; clusters: {names or 'none'}")
    return DONE
