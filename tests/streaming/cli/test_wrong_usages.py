"""Commands about groups that are used wrongly: one sentence that says what, where and what to do, and code 2."""

import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.exit_codes import BAD_INPUT
from tests.vector_files import CAPTURES

ZOMBIES = ("--group", "zombies", "--capture", str(CAPTURES / "zombie"))
THEN = (*ZOMBIES, "--at", "2026-11-20T12:28:40Z")
NOWHERE = ("--bootstrap-servers", "127.0.0.1:1")

WRONG: tuple[tuple[tuple[str, ...], str], ...] = (
    (("status", "--at", "yesterday", *ZOMBIES), "--at 'yesterday' is no moment; write 2026-01-10T20:00:00Z"),
    (("status", "--since", "5parsecs", *ZOMBIES), "--since '5parsecs' is no time; write 90m, 2h or 1d12h"),
    (("status", "--url", "ftp://x"), "correct --url or REBALANCE_MONITOR_URL"),
    (("status", "--url", "http://127.0.0.1:1"), "see that it runs, and give its page's address with --url"),
    (("status", "--capture", "/nowhere"), "cannot read /nowhere: No such file or directory; correct the path"),
    (("status", "--capture", ""), "--capture is empty; name a folder or a file"),
    (("status", "--watch", *ZOMBIES), "leave out --capture and --at"),
    (("status", "-o", "xml"), "see rebalance-monitor status --help"),
    (("status", "--url", "http://h", "--capture", "x"), "not allowed with argument --url"),
    (("status", "--group", "nope", *ZOMBIES[2:]), "`rebalance-monitor status` lists those that are"),
    (("explain", *ZOMBIES[2:]), "say which group is meant: --group ID, or --all-groups"),
    (("explain", "--generation", "999", *ZOMBIES), "is not among the last 21 that are known, 1 to 21"),
    (("explain", "--generation", "x", *ZOMBIES), "'x' is no whole number"),
    (("explain", "--all-groups", *ZOMBIES), "not allowed with argument --all-groups"),
    (("whatif", *THEN), "say what changes: --leave, --join, --scale or --bounce"),
    (("whatif", "--leave", "ghost", *THEN), "no member ghost is in the group; it has 127.0.0.1:19302"),
    (("whatif", "--join", "-1", *THEN), "--join -1: write 1 to 100"),
    (("whatif", "--join", "1000000", *THEN), "--join 1000000: write 1 to 100"),
    (("whatif", "--scale", "idle-a", *THEN), "write --scale orders=12"),
    (("whatif", "--scale", "idle-a=-4", *THEN), "write --scale orders=12"),
    (("whatif", "--scale", "nope=4", *THEN), "no connector nope is held in the group; it has idle-a, idle-b"),
    (("whatif", "--bounce", "127.0.0.1:19304", "--away", "soon", *THEN), "--away 'soon' is no time; write 90m"),
    (("whatif", "--join", "2", *ZOMBIES[2:]), "say which group is meant: --group ID, or --all-groups"),
    (("wait", *ZOMBIES[2:]), "say which groups are waited for: --group ID, or --all-groups"),
    (("wait", "--stable", "0", *ZOMBIES), "--stable '0' is no time; write 90m, 2h or 1d12h"),
    (("wait", "--timeout", "1s", "--stable", "30s", *ZOMBIES), "make it longer"),
    (("wait", "--caught-up", "x", *ZOMBIES), "'x' is no whole number"),
    (("capture", "--out", "taken"), "name one with --config or --bootstrap-servers"),
    (("capture", *NOWHERE), "the following arguments are required: --out"),
    (("capture", *NOWHERE, "--out", "taken", "--for", "forever"), "--for 'forever' is no time; write 90m"),
    (("capture", "--bootstrap-servers", "x", "--out", "taken"), "write host:port,host:port"),
    (("why", *ZOMBIES[2:]), "say what is meant: --group ID, --all-groups, or --at-once"),
    (("why", "--at-once", *ZOMBIES), "leave out --group and --all-groups"),
    (("why", "--since", "0", *ZOMBIES), "--since '0' is no time; write 90m, 2h or 1d12h"),
    (
        ("cost", "--by", "nothing", *ZOMBIES),
        "take words of cluster, group, team, connector, cause, month, day, rebalance",
    ),
    (("cost", "--since", "-3d", *ZOMBIES), "see rebalance-monitor cost --help"),
    (("advise", "--delay", "x", *ZOMBIES), "--delay 'x' is no time; write 90m, 2h or 1d12h"),
    (("advise", "--release", "99", *ZOMBIES), "write one such as 4.3"),
    (("bundle", *ZOMBIES), "the following arguments are required: --out"),
    (("bundle", *ZOMBIES, "--out", "/nowhere/z.zip"), "name another file with --out"),
    (("bundle", "--group", "nope", *ZOMBIES[2:], "--out", "z.zip"), "see with `rebalance-monitor status` which groups"),
    (("replay", __file__), "name a capture's folder, or a file with one captured record a line"),
    (("plan", "--family", "nope"), "known are broker-assign"),
    (("config", "check", "--config", "/nowhere.yaml"), "give the path of a YAML file with --config"),
    (("config", "rights"), "list at least one cluster"),
    (("run", "--config", "/"), "check its path and permissions"),
)


@pytest.mark.parametrize(("words", "said"), WRONG, ids=lambda one: " ".join(one)[:60] if isinstance(one, tuple) else "")
def test_it_is_one_sentence(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: object,
    words: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(str(tmp_path))
    try:
        code = main(words)
    except SystemExit as why:  # wrong usage of options
        code = int(str(why.code))
    printed = capsys.readouterr()
    assert (code, printed.out) == (BAD_INPUT, "")
    (line,) = printed.err.splitlines()
    assert line.startswith("rebalance-monitor")
    assert said in line
