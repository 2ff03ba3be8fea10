"""Groups of the new protocols: KIP-848 consumer groups, share groups, Streams groups (KIP-1071)."""
