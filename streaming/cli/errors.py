"""Failures that the user can mend: one sentence with what, where and what to do."""


class InputError(Exception):
    """Exit code 2."""
