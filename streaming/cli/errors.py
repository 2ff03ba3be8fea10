"""Failures that the user can mend: one sentence with what, where and what to do."""


class InputError(Exception):
    """Ends the command with BAD_INPUT."""
