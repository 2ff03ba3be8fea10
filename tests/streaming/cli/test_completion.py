"""`completion`: what bash itself offers after sourcing the script."""

import subprocess

import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.names import FAMILIES, SHELLS

OFFER = """
source /dev/stdin
COMP_WORDS=(rebalance-monitor "$@")
COMP_CWORD=$#
COMP_LINE="${COMP_WORDS[*]}"
COMP_POINT=${#COMP_LINE}
declared=$(complete -p rebalance-monitor)
function_name=${declared#*-F }
${function_name% *}
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(script: str, *words: str) -> set[str]:
    done = subprocess.run(
        ["bash", "-c", OFFER, "bash", *words], input=script, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("rep",), {"replay"}),
        (("gaps", ""), {"list", "acknowledge"}),
        (("plan", "--family", ""), set(FAMILIES)),
        (("replay", "-o", ""), {"table", "json"}),
        (("completion", ""), set(SHELLS)),
        (("status", "-o", ""), {"table", "json", "yaml"}),
        (("wait", "--s"), {"--stable", "--streams-warm"}),
    ],
)
def test_bash_offers_what_fits(words: tuple[str, ...], expected: set[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    assert expected <= offered(capsys.readouterr().out, *words)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "rebalance-monitor" in capsys.readouterr().out
