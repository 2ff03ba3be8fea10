"""The command line: arguments in, exit code out (`exit_codes`). Every expected failure is one sentence on stderr."""

import errno
import sys
import traceback
from argparse import ArgumentParser
from collections.abc import Callable, Sequence

from .commands import parser
from .exit_codes import BAD_INPUT, DONE, INTERNAL, INTERRUPTED, InputError
from .output import ready_streams


def main(argv: Sequence[str], made: Callable[[], ArgumentParser] = parser) -> int:
    """Run one command of the parser that `made` gives; SystemExit is argparse's, after help and wrong usage."""
    ready_streams()
    try:
        return _run(argv, made())
    except InputError as why:
        print(f"rebalance-monitor: {why}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stdout = None  # whoever read the output has seen enough: nothing more is written at the end
        return DONE
    except Exception as why:
        if isinstance(why, OSError) and why.filename is not None:
            print(
                f"rebalance-monitor: can't read or write {why.filename} ({why.strerror}); check its path and rights",
                file=sys.stderr,
            )
            return BAD_INPUT
        if isinstance(why, OSError) and why.errno == errno.ENOSPC:
            print(f"rebalance-monitor: can't write the output ({why.strerror}); make room for it", file=sys.stderr)
            sys.stdout = None  # likewise
            return BAD_INPUT
        print("rebalance-monitor: internal error; please report the lines below", file=sys.stderr)
        traceback.print_exc()
        return INTERNAL


def _run(argv: Sequence[str], parser: ArgumentParser) -> int:
    """All output is out at the end, so that a full disk shows here and not behind the last line of the program."""
    try:
        arguments = parser.parse_args(argv)
        code: int = arguments.handle(arguments)
    except SystemExit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return code
