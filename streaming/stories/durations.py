"""Spans of time as people say them."""


def duration(ms: int) -> str:
    """A span as people say it."""
    seconds = ms / 1000
    if seconds < 1:
        return f"{ms} ms"
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes = seconds / 60
    if minutes < 120:
        return f"{minutes:.0f} min"
    hours = minutes / 60
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.1f} days"


def exact(ms: int) -> str:
    """A setting, or a time that follows from settings alone: whole seconds are not rounded away."""
    if ms < 90_000:
        return duration(ms)
    minutes, seconds = divmod(round(ms / 1000), 60)
    if not seconds and not minutes % 60 and minutes > 60:
        return f"{minutes // 60} h"
    return f"{minutes} min{f' {seconds} s' if seconds else ''}"
