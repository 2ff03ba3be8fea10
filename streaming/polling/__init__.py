"""What is asked of brokers beside the topics that are read, by threads of their own: a poller delays no batch."""
