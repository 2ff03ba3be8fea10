"""A module that needs a package that is not there."""

import a_package_that_nobody_installed  # type: ignore[import-not-found]  # noqa: F401
