"""Topics of a group in the lab: made, and grown while the group lives."""

import random
from collections.abc import Sequence

from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from lab.process import Lab

ASK_S = 10.0
MADE_S = 30


def make(lab: Lab, admin: AdminClient, topics: Sequence[NewTopic]) -> None:
    """Make these topics, and wait until brokers list them."""
    for made in admin.create_topics(list(topics)).values():
        made.result(MADE_S)
    wanted = {topic.topic for topic in topics}
    lab.wait_for("the topics", lambda: wanted <= admin.list_topics(timeout=ASK_S).topics.keys())


def grow(admin: AdminClient, topic: str, dice: random.Random) -> None:
    """Give the topic one or two more partitions."""
    count = len(admin.list_topics(topic, timeout=ASK_S).topics[topic].partitions) + dice.randint(1, 2)
    for made in admin.create_partitions([NewPartitions(topic, count)]).values():
        made.result(MADE_S)
