"""The delay of a Connect generation: what kind of window it is, and the laws about its end (CONNECT-K7, K8, K9)."""

import math
from collections.abc import Iterator

from rebalance_monitor.streaming.core.connect.intent import declared_by
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask, Observed, subjects_of
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.model.results import Certainty, Subject
from .catalogue_across import DELAY_WITHOUT_LOSS, WINDOW_CUT_SHORT, WINDOW_END_MOVED
from .context import Need, RuleCheck, Scene
from .memory import Window, WindowKind
from .record import found, found_since, names_alike

CLOCK_SLACK_MS = 1_000
FIRST_BACKOFF_MS = 40


def is_backoff(delay_ms: int, max_delay_ms: int | None) -> bool:
    """Whether a pause between successive revoking rounds lasts this long: 40 ms to the n, below the maximum delay."""
    if delay_ms == max_delay_ms:
        return False
    power = round(math.log(delay_ms, FIRST_BACKOFF_MS)) if delay_ms > 0 else 0
    return power >= 1 and FIRST_BACKOFF_MS**power == delay_ms


def waiting_jobs(observed: Observed, configured: frozenset[ConnectorOrTask]) -> frozenset[ConnectorOrTask]:
    """Configured jobs in nobody's hands that were not taken from anybody in this round."""
    return configured - observed.hands() - observed.revoked()


def window_of(scene: Scene) -> Window | None:
    """The window this generation announces, None without a delay or where the configured jobs are not known."""
    now = scene.observed
    if not now.delay_ms or scene.configured is None:
        return None
    waiting = waiting_jobs(now, scene.configured)
    if waiting:
        kind = WindowKind.LOSS
    elif _continues(scene):
        before = scene.memory.window
        kind = before.kind if before is not None else WindowKind.WASTED
    elif is_backoff(now.delay_ms, scene.max_delay_ms) or not _departed(scene):
        kind = WindowKind.BACKOFF
    else:
        kind = WindowKind.WASTED
    return Window(
        kind=kind,
        leader=now.leader or "",
        earliest_end_ms=min(now.formed_ms, now.at_ms) + now.delay_ms,
        latest_end_ms=now.at_ms + now.delay_ms,
        waiting=waiting,
    )


def _departed(scene: Scene) -> bool:
    return scene.last is not None and bool(scene.last.views.keys() - scene.observed.views.keys())


def _running(scene: Scene) -> Window | None:
    """The window of the record before, if the same leader still had to keep it in this round."""
    before, now = scene.memory.window, scene.observed
    if before is None or before.leader != now.leader or scene.last is None or scene.last.error:
        return None
    latest_reading_ms = now.at_ms + CLOCK_SLACK_MS
    return before if latest_reading_ms < before.earliest_end_ms else None


def _continues(scene: Scene) -> bool:
    before, now = _running(scene), scene.observed
    if before is None:
        return False
    earliest_ms, latest_ms = now.formed_ms + now.delay_ms, now.at_ms + now.delay_ms
    return earliest_ms <= before.latest_end_ms + CLOCK_SLACK_MS and latest_ms >= before.earliest_end_ms - CLOCK_SLACK_MS


def window_end_moved(scene: Scene) -> Iterator[Finding]:
    """CONNECT-K7: while a loss window is open, every round of its leader announces the same end."""
    before, now = _running(scene), scene.observed
    if before is None or before.kind is not WindowKind.LOSS or not now.delay_ms or _continues(scene):
        return
    if scene.last is None or now.at_ms < scene.last.at_ms:  # another broker's clock: nothing can be told by it
        return
    if not _kept_memory(scene) or (waiting := window_of(scene)) is None or not waiting.waiting & before.waiting:
        return
    end_ms = now.at_ms + now.delay_ms
    moved_ms = end_ms - before.latest_end_ms
    message = f"the end of the scheduled delay moved by {moved_ms} ms while {names_alike(waiting.waiting)} wait"
    yield found_since(scene, WINDOW_END_MOVED, (Subject("member", now.leader or ""),), message)


def delay_without_loss(scene: Scene) -> Iterator[Finding]:
    """CONNECT-K8: a delay although no job waits for anybody, and no pause between two revoking rounds either."""
    window = window_of(scene)
    if window is None or window.kind is not WindowKind.WASTED:
        return
    message = (
        f"a delay of {scene.observed.delay_ms} ms was opened although nothing waits: a member left right after a "
        "rebalance that revoked tasks from others, and the leader takes that for a loss"
    )
    group = (Subject("group", scene.group),)
    yield found(scene, DELAY_WITHOUT_LOSS, group, message, certainty=Certainty.LIKELY)


def window_cut_short(scene: Scene) -> Iterator[Finding]:
    """CONNECT-K9: lost jobs are handed out before their window ends, though nothing happened that ends it."""
    before, now = _running(scene), scene.observed
    if before is None or before.kind is not WindowKind.LOSS or not _kept_memory(scene):
        return
    placed = now.assigned() & before.waiting
    returned = now.reported() & before.waiting
    if not placed or returned or (scene.configured is not None and before.waiting - scene.configured):
        return
    placed -= frozenset().union(*declared_by(scene.body).values())  # a static job goes at once to whoever declares it
    if not placed:
        return
    early_ms = before.earliest_end_ms - now.at_ms
    message = f"{names_alike(placed)} were handed out {early_ms} ms before the end of the scheduled delay"
    yield found_since(scene, WINDOW_CUT_SHORT, subjects_of(placed), message, Certainty.LIKELY)


def _kept_memory(scene: Scene) -> bool:
    """Whether the leader's allocation shows that its process completed the record before: else its memory is void."""
    if scene.last is None or scene.gap:
        return False
    now, before = scene.observed.leading, scene.last.views.get(scene.observed.leader or "")
    return now is not None and before is not None and (now.shown, now.held) == (scene.last.header, before.holds)


COOPERATIVE_STEP = frozenset({Need.NO_ERROR, Need.CONFIG, Need.READABLE})
LAWS = (
    RuleCheck(rules=(WINDOW_END_MOVED,), needs=COOPERATIVE_STEP, broken=window_end_moved),
    RuleCheck(rules=(DELAY_WITHOUT_LOSS,), needs=COOPERATIVE_STEP, broken=delay_without_loss),
    RuleCheck(rules=(WINDOW_CUT_SHORT,), needs=COOPERATIVE_STEP, broken=window_cut_short),
)
