"""The lab's one error, a sentence for the user, and what a signal raises: both are shown without a traceback."""

import sys
from collections.abc import Callable
from functools import wraps


class LabError(Exception):
    """Something outside the program is missing or refused: says what, where, and what to do."""


class Stopped(BaseException):
    """A signal asked the program to end. Not an Exception, so that no retry loop swallows it."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number


def says_why(program: str, *known: type[Exception]) -> Callable[[Callable[[], int]], Callable[[], int]]:
    """For a program's `main`: an error of the lab, or a known one, is a sentence on stderr and exit code 2, a signal is
    no traceback."""

    sentences: tuple[type[Exception], ...] = (LabError, *known)

    def decorated(main: Callable[[], int]) -> Callable[[], int]:
        @wraps(main)
        def run() -> int:
            try:
                return main()
            except sentences as why:
                print(f"{program}: {why}", file=sys.stderr)
                return 2
            except Stopped as stopped:
                print(f"{program}: stopped; nothing was left running", file=sys.stderr)
                return 128 + stopped.signal_number

        return run

    return decorated
