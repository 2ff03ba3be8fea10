"""Examples that `--help` shows of each command that does not answer about groups (those: `group_commands`)."""

import argparse
from collections.abc import Iterator, Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "run": ("run --config monitor.yaml", "run --config monitor.yaml --shadow next"),
    "compare": ("compare next --config monitor.yaml", "compare next --config monitor.yaml -o json"),
    "serve": ("serve --config monitor.yaml", "serve --config monitor.yaml --monitor-url http://127.0.0.1:9470"),
    "audit": ("audit --config monitor.yaml", "audit --config monitor.yaml -o json"),
    "replay": ("replay tests/vectors/captures/zombie", "replay tests/vectors/captures/zombie -o json"),
    "capture": (
        "capture --out incident --config monitor.yaml --since 30m",
        "capture --out orders --bootstrap-servers 127.0.0.1:9092 --group 'orders-*' --for 10m --max-bytes 64m",
    ),
    "bundle": (
        "bundle --group orders --config monitor.yaml --since 2h --out orders.zip",
        "bundle --group zombies --capture tests/vectors/captures/zombie --shareable --out shared.zip",
    ),
    "plan": ("plan --family connect-incremental-rounds cases.jsonl", "plan --family consumer-assign - -o table"),
    "decode": (
        "decode 00020001670001740000000c null",
        "decode tests/vectors/captures/zombie --topic __consumer_offsets --partition 6 --offset 3",
    ),
    "config check": ("config check --config monitor.yaml", "config check --config monitor.yaml --connect"),
    "config init": (
        "config init --bootstrap-servers 127.0.0.1:9092",
        "config init --config reached.yaml --out monitor.yaml",
    ),
    "config default": ("config default",),
    "config rights": ("config rights --config monitor.yaml --principal User:monitor",),
    "maintenance add": (
        "maintenance add --groups 'orders-*' --owner payments --reason 'new release' --for 90m --config monitor.yaml",
    ),
    "maintenance list": ("maintenance list --config monitor.yaml", "maintenance list --all --config monitor.yaml"),
    "maintenance end": ("maintenance end 3f1c2a --config monitor.yaml",),
    "gaps list": ("gaps list --config monitor.yaml", "gaps list --all --config monitor.yaml -o json"),
    "gaps acknowledge": ("gaps acknowledge --cluster production --config monitor.yaml",),
    "rules": ("rules", "rules duplicate_active"),
    "dashboards": ("dashboards build --help", "dashboards build --check", "dashboards publish --help"),
    "dashboards build": (
        "dashboards build --check",
        "dashboards build --out rules --cluster-label kafka_cluster",
        "dashboards build --out rules --selector 'env=\"prod\"'",
    ),
    "dashboards publish": (
        "dashboards publish --url http://127.0.0.1:3000 --token-file token --dry-run",
        "dashboards publish --url https://grafana.example --folder kafka --folder-title Kafka",
    ),
    "completion": ("completion bash",),
}


class Examples(argparse.HelpFormatter):
    """Lines of examples stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:") else super()._fill_text(text, width, indent)


def leaves(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that can be run, by its words."""
    below = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if not below:
        yield name, parser
    for action in below:
        for word, one in action.choices.items():
            yield from leaves(one, f"{name} {word}".strip())


def show_own_examples(command: argparse.ArgumentParser, name: str) -> None:
    """The command's help ends with its examples."""
    lines = "\n".join(f"  rebalance-monitor {one}" for one in EXAMPLES[name])
    command.epilog, command.formatter_class = f"examples:\n{lines}\n", Examples


def show_examples(parser: argparse.ArgumentParser) -> None:
    """Each command ends its help with its examples."""
    for name, command in leaves(parser):
        if name in EXAMPLES:
            show_own_examples(command, name)
