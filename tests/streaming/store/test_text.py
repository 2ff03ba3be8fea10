"""JSON that PostgreSQL accepts, of whatever Kafka lets a client write."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.store.text import clean, json_text

texts = st.text(st.characters(codec=None), max_size=8)  # U+0000 and lone surrogates among them
trees: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def cleaned(tree: Any) -> Any:
    match tree:
        case str():
            return clean(tree)
        case list():
            return [cleaned(item) for item in tree]
        case dict():
            return {clean(key): cleaned(item) for key, item in tree.items()}
        case _:
            return tree


@given(trees)
def test_a_tree_comes_back_with_its_texts_clean(tree: Any) -> None:
    text = json_text(tree)
    assert text.encode().decode() == text
    assert json.loads(text) == cleaned(tree)


@given(trees)
def test_the_text_is_compact_json(tree: Any) -> None:
    assert json_text(tree) == json.dumps(cleaned(tree), ensure_ascii=False, separators=(",", ":"))
