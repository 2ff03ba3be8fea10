"""The assignors of Kafka Connect: eager, incremental cooperative (KIP-415) and static (KIP-987), of every release."""
