"""`why`: the causes of a group's rebalances as a ranking, and what groups share that rebalanced at once."""

import argparse

from rich.text import Text

from rebalance_monitor.streaming.core.model.messages import counted, listed, utc
from rebalance_monitor.streaming.stories.score import score_lines
from rebalance_monitor.streaming.stories.why import notes_on, told_in_lines
from .exit_codes import CANNOT_TELL, DONE, InputError
from .group_questions import question_of
from .group_sources import Object
from .output import print_for_programs
from .terminal import Terminal


def why(arguments: argparse.Namespace) -> int:
    """CANNOT_TELL where there was no rebalance, or nothing that many groups share."""
    if arguments.at_once and (arguments.group or arguments.all_groups):
        raise InputError("--at-once looks at all groups; leave out --group and --all-groups")
    if not (arguments.at_once or arguments.group or arguments.all_groups):
        raise InputError("say what is meant: --group ID, --all-groups, or --at-once")
    arguments.since = arguments.since or ("1h" if arguments.at_once else "7d")
    question = question_of(arguments)
    since_ms = max(question.since_ms or 0, 0)
    if arguments.at_once:
        question.every()
        return _at_once(question.source.at_once(since_ms), arguments)
    told = [question.source.why(key, since_ms) for key in question.every()]
    some = [one for one in told if one["rebalances"] or arguments.group]
    for one in some:
        if arguments.output == "table":
            _print_ranking(one)
        else:
            print_for_programs(one, arguments.output)
    if not some and arguments.output == "table":
        print(f"no group has rebalanced since {utc(since_ms)}")
    return DONE if any(one["rebalances"] for one in told) else CANNOT_TELL


def _print_ranking(told: Object) -> None:
    console = Terminal()
    count = told["rebalances"]
    span = f" from {utc(told['first_ms'])} to {utc(told['last_ms'])}" if count else f" since {utc(told['since_ms'])}"
    title = f"{told['group']} ({told['cluster']}): {counted(count, 'rebalance')}{span}"
    console.print(Text(title, style="bold"), soft_wrap=True)
    for line, evidence in told_in_lines(told):
        console.print(Text(f"  {line}"), soft_wrap=True)
        if evidence:
            console.print(Text(f"      {evidence}", style="dim"), soft_wrap=True)
    for line in score_lines(told["predictions"]):
        console.print(Text(f"  predicted: {line}"), soft_wrap=True)
    for note in notes_on(told):
        console.print(Text(f"  {note}", style="yellow"), soft_wrap=True)
    console.print()


def _at_once(told: Object, arguments: argparse.Namespace) -> int:
    events = [one for one in told["events"] if arguments.cluster in (None, one["cluster"])]
    if arguments.output != "table":
        print_for_programs({**told, "events": events}, arguments.output)
        return DONE if events else CANNOT_TELL
    console = Terminal()
    for one in events:
        groups = f"{len(one['groups'])} groups, {counted(one['rebalances'], 'rebalance')}"
        console.print(Text(f"{utc(one['from_ms'])} ({one['cluster']}): {groups}", style="bold"), soft_wrap=True)
        for shared in one["shared"]:
            console.print(Text(f"  {shared['text']} ({one['certainty']})"), soft_wrap=True)
        console.print(Text(f"      {listed(one['groups'], 12)}", style="dim"), soft_wrap=True)
    if not events:
        print(
            f"since {utc(told['since_ms'])}: no groups that rebalanced at once share a host, client id or partition"
            " that others do not have"
        )
    if not told["all"]:
        print("There was more than is looked at: shorten --since.")
    return DONE if events else CANNOT_TELL
