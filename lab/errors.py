"""The lab's one error: a sentence for the user, shown without a traceback."""


class LabError(Exception):
    """Something outside the program is missing or refused: says what, where, and what to do."""


class Stopped(BaseException):
    """A signal asked the program to end. Not an Exception, so that no retry loop swallows it."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number
