"""Groups of the new protocols: KIP-848 consumer groups, Streams groups (KIP-1071), and those that are only counted.

Such a group has three epochs instead of one generation: the group epoch (a new target is needed), the assignment epoch
(a target was computed) and an epoch of each member (how far it has come).
"""
