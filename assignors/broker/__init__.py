"""The assignors that run in the broker: KIP-848 consumer groups, share groups (KIP-932), Streams groups (KIP-1071).

The coordinator writes the whole input of such an assignor to `__consumer_offsets`, except for the partition counts of
the topics. Nothing of the members' memory is needed, so every result can be recomputed from the log and the cluster's
metadata.
"""
