"""`advise`: what a group's past rebalances would have been under another setting, assignor or release."""

import argparse
from dataclasses import replace

from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.stories.whatif.advice import AskedHistory, AskedSetting, advice_object, told_in_lines
from rebalance_monitor.streaming.stories.whatif.change import WrongChange
from rebalance_monitor.streaming.stories.whatif.connect_history import ConnectSetting
from rebalance_monitor.streaming.stories.whatif.consumer_targets import CONSUMER_PROTOCOL
from rebalance_monitor.streaming.stories.whatif.streams_history import StreamsSetting
from rebalance_monitor.streaming.stories.whatif.usual_advice import lines_of_others, notes_on, worth_it
from rebalance_monitor.streaming.stories.why import newest
from rebalance_monitor.streaming.web.rows import NOBODY
from .exit_codes import CANNOT_TELL, DONE, InputError
from .group_questions import question_of
from .group_sources import Object
from .moments import setting_ms
from .output import print_for_programs


def advise(arguments: argparse.Namespace) -> int:
    """CANNOT_TELL where nothing can be computed; a sentence says why."""
    arguments.group = [arguments.group]
    question = question_of(arguments)
    key = question.names()[0]
    asked = _asked(arguments)
    if asked == AskedSetting():
        return _all_settings(question.source.advice(key, max(question.since_ms or 0, 0)), arguments.output)
    generations, whole = newest(question.source.generations(key, question.since_ms))
    there = question.source.known(key, 1).group["status"] not in NOBODY
    history = AskedHistory(*key, generations, whole=whole, until_ms=question.source.at_ms, there=there)
    try:
        told = advice_object(history, asked)
    except WrongChange as why:
        raise InputError(str(why)) from None
    if arguments.output != "table":
        print_for_programs(told, arguments.output)
    else:
        for line in told_in_lines(told):
            print(line)
    known = told["answer"] is not None or bool((told["restarts"] or {}).get("rolling"))
    return DONE if known else CANNOT_TELL


def _all_settings(told: Object, output: str) -> int:
    if output != "table":
        for one in told["settings"]:
            print_for_programs(one, output)
    else:
        print(
            f"{told['group']} ({told['cluster']}): {counted(told['generations'], 'generation')} under another setting"
        )
        for line, evidence in worth_it(told):
            print(f"  {line} ({evidence})")
        for line in (*lines_of_others(told), *notes_on(told)):
            print(f"  {line}")
        if not told["settings"]:
            print("  Nothing is computed for groups of this kind, or none is known in that time.")
    return DONE if any(one["answer"] is not None for one in told["settings"]) else CANNOT_TELL


def _asked(arguments: argparse.Namespace) -> AskedSetting:
    delay_ms = None if arguments.delay is None else setting_ms(arguments.delay, "--delay")
    session_ms = None if arguments.session is None else setting_ms(arguments.session, "--session")
    connect = ConnectSetting(delay_ms, arguments.release, arguments.protocol, arguments.workers)
    streams = StreamsSetting(arguments.standbys, arguments.warm_ups, arguments.acceptable_lag)
    asked = AskedSetting(
        arguments.assignor, arguments.static, session_ms, connect, arguments.steps, arguments.members, streams
    )
    if asked.steps and (arguments.assignor, arguments.release, arguments.protocol) == (None, None, None):
        raise InputError("--steps is of --assignor, --release or --protocol; give one of them, too")
    if streams != StreamsSetting() and asked != AskedSetting(streams=streams):
        raise InputError("--standbys, --warm-ups and --acceptable-lag are of Streams; leave the other settings out")
    if arguments.static:
        if (arguments.assignor, arguments.members) != (None, None) or connect != ConnectSetting():
            raise InputError("--static is answered by itself; leave the other settings out")
        return asked
    if session_ms is not None:
        raise InputError("--session is of static members; give --static, too")
    if arguments.protocol == CONSUMER_PROTOCOL:
        if replace(asked, steps=False) != AskedSetting(
            arguments.assignor, connect=ConnectSetting(None, arguments.release, arguments.protocol)
        ):
            raise InputError(
                "--protocol consumer goes with --assignor, --release and --steps; leave the other settings out"
            )
        return asked
    of_consumers = (arguments.assignor, arguments.members) != (None, None)
    if of_consumers and replace(connect, release=None) != ConnectSetting():
        raise InputError(
            "--assignor and --members are of consumers, --delay, --protocol and --workers of Connect; give one of both"
        )
    return asked
