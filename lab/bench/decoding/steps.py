"""Steps of the interpreter that a call takes, counted: a profile that no busy machine and no profiler's own cost bends.

A step is one bytecode instruction of CPython. The kinds are those that cost most: calls (of C functions nearly all of
them), slices and items, sums, and fields of objects that are filled.
"""

import dis
import sys
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

KINDS = {"calls": ("CALL",), "slices": ("BINARY_SUBSCR",), "sums": ("BINARY_OP",), "fields filled": ("STORE_ATTR",)}


def steps(decode: Callable[[bytes], Any], value: bytes) -> dict[str, int]:
    """All steps of `decode(value)`, and those of each kind."""
    found: Counter[str] = Counter()
    names: dict[CodeType, dict[int, str]] = {}

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            code = frame.f_code
            if code not in names:
                names[code] = {one.offset: one.opname for one in dis.get_instructions(code)}
            found[names[code][frame.f_lasti]] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        decode(value)
    finally:
        sys.settrace(before)
    return {"all": found.total()} | {kind: sum(found[name] for name in of) for kind, of in KINDS.items()}
