"""What is known of a cluster beside the records of its groups. Somebody asks the brokers; the fold only reads."""
