"""Great Expectations, imported so that it speaks to nobody but the database.

Its settings are read while it is imported, so they are made before: no usage statistics, no cloud account that some
variable of the environment names, no progress bars.
"""

import gc
import importlib
import logging
import os
import sys
import warnings
from typing import Any

ANALYTICS = "GX_ANALYTICS_ENABLED"
_ACCOUNT = "GX_CLOUD_"


class NotInstalled(Exception):
    """The extra is missing; the text names the package."""


def great_expectations() -> Any:
    """The package. Raises NotInstalled."""
    for name in [name for name in os.environ if name.upper().startswith(_ACCOUNT)]:
        del os.environ[name]
    os.environ[ANALYTICS] = "false"
    # Where Spark is installed too, the package would load it; some of its modules end the process that imports them.
    sys.modules.setdefault("pyspark", None)  # type: ignore[arg-type]  # None makes its import fail, as documented
    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    # Thousands of classes are made, and they stay: to look for garbage among them took a fifth of the import.
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module("sqlalchemy")
            return importlib.import_module("great_expectations")
    except ImportError as why:
        raise NotInstalled(why.name or str(why)) from why
    finally:
        gc.freeze()
        gc.enable()
