-- What brokers said of their topics, by topic: its changes as a list of [after_ms, at_ms, replicas by partition, or null
-- while the topic is not there]. The row with topic '' holds the racks of brokers and the time of the last sample.
create table rebalance_monitor.topic_samples (
    cluster_id text not null,
    topic text not null,
    content text not null,
    primary key (cluster_id, topic)
);
