"""From the bytes of a record to a row, or to the reason why it cannot be read."""
