"""Texts of `Topology.describe()`: what is read out of them, and what is refused."""

import pytest

from rebalance_monitor.assignors.streams.subtopologies import Subtopology
from rebalance_monitor.assignors.streams.topology_text import (
    DescribedSubtopology,
    UnreadableTopology,
    parse_topology,
    subtopologies,
)

TEXT = """Topologies:
   Sub-topology: 0 for global store (will not generate tasks)
    Source: KSTREAM-SOURCE-0000000000 (topics: [lookup])
      --> KTABLE-SOURCE-0000000001
    Processor: KTABLE-SOURCE-0000000001 (stores: [lookup-store])
      --> none
      <-- KSTREAM-SOURCE-0000000000
  Sub-topology: 1
    Source: KSTREAM-SOURCE-0000000002 (topics: [a, b])
      --> KSTREAM-AGGREGATE-0000000003
    Processor: KSTREAM-AGGREGATE-0000000003 (stores: [cnt, other])
      --> r-sink
      <-- KSTREAM-SOURCE-0000000002
    Sink: r-sink (topic: r-repartition)
      <-- KSTREAM-AGGREGATE-0000000003
    Sink: dynamic (extractor class: com.example.Chooser@1)
      <-- KSTREAM-AGGREGATE-0000000003

  Sub-topology: 2
    Source: r-source (topics: [r-repartition])
      --> table
    Source: matching (topics: logs-.*)
      --> table
    Processor: table (stores: [t])
      --> none
      <-- r-source, matching

"""


def always_logged(topic: str, store: str, part: DescribedSubtopology) -> str | None:
    return topic


def test_subtopologies_of_a_text() -> None:
    found = subtopologies(parse_topology(TEXT), "app", ["logs-1", "logs-2", "a"], always_logged)
    assert found == [
        Subtopology(
            number=1,
            sources=("a", "b"),
            sinks=frozenset({"app-r-repartition"}),
            changelogs=("app-cnt-changelog", "app-other-changelog"),
            stores=frozenset({"cnt", "other"}),
        ),
        Subtopology(
            number=2,
            sources=("app-r-repartition", "logs-1", "logs-2"),
            repartition_sources={"app-r-repartition": None},
            changelogs=("app-t-changelog",),
            stores=frozenset({"t"}),
        ),
    ]


def test_what_feeds_a_store_is_told() -> None:
    text = "Topologies:\n Sub-topology: 0\n Source: s (topics: [in])\n Processor: p (stores: [t])\n <-- s\n"

    def reused(topic: str, store: str, part: DescribedSubtopology) -> str | None:
        return part.fed[store][0]

    (found,) = subtopologies(parse_topology(text), "app", [], reused)
    assert found.changelogs == ("in",)
    assert found.own_changelogs() == ()


def test_a_store_may_have_no_changelog() -> None:
    found = subtopologies(parse_topology(TEXT), "app", [], lambda topic, store, part: None)
    assert [part.changelogs for part in found] == [(), ()]
    assert found[0].stores == {"cnt", "other"}


def test_names_of_topologies_are_part_of_the_topics() -> None:
    text = "Topology: topo:\n Sub-topology: 0\n Source: s (topics: [in])\n Processor: p (stores: [t])\n"
    (found,) = subtopologies(parse_topology(text), "app", [], always_logged)
    assert (found.topology, found.changelogs) == ("topo", ("app-topo-t-changelog",))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Source: s (topics: [in])", "line 1 comes before any 'Sub-topology:' line"),
        ("Topologies:\n Sub-topology: 0\n Sauce: s", "line 3 is neither a source, a processor nor a sink: Sauce: s"),
    ],
)
def test_other_texts_are_refused_with_the_line(text: str, reason: str) -> None:
    with pytest.raises(UnreadableTopology, match=reason):
        parse_topology(text)
