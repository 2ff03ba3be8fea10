"""A type's name stands for one thing: in the product, in `schemas`, and in the assignors of each kind.

The layers do not know each other, so they may name the same thing of Kafka alike. An alias that is written twice in the
same words is one thing. Names with an underscore belong to their module.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = {
    "product": ("streaming", "dashboards"),
    "schemas": ("schemas",),
    **{f"assignors/{kind}": (f"assignors/{kind}",) for kind in ("broker", "connect", "consumer", "streams")},
}


def types_of(tree: ast.Module) -> Iterator[tuple[str, str | None]]:
    """Public types at the top of a module: name and, of an alias, what it stands for."""
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name):
                yield name, None
            case ast.AnnAssign(
                target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias"), value=ast.expr() as value
            ):
                yield name, ast.unparse(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name[0].isupper() and not name.isupper():
                yield name, ast.unparse(value)
            case _:
                pass


def meanings(folders: tuple[str, ...]) -> dict[str, set[str]]:
    """Public name -> what it stands for; a class stands for itself."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for name, alias in types_of(ast.parse(path.read_text(encoding="utf-8"))):
            if not name.startswith("_") and len(name) > 1:
                found[name].add(alias or f"class in {path.relative_to(ROOT)}")
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_a_name_stands_for_one_thing(layer: str) -> None:
    assert {name: sorted(found) for name, found in meanings(LAYERS[layer]).items() if len(found) > 1} == {}


def test_two_types_of_one_name_are_found() -> None:
    tree = ast.parse("class Aa: ...\nBb = dict[str, int]\nCc: TypeAlias = Aa | None\nLIMIT = 3\n_D = str\n")
    assert list(types_of(tree)) == [("Aa", None), ("Bb", "dict[str, int]"), ("Cc", "Aa | None")]
