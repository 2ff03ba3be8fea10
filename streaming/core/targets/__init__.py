"""Groups that the coordinator computes targets for: what the new protocols have in common, whatever a target holds.

Such a group has three epochs instead of one generation: the group epoch (a new target is needed), the assignment epoch
(a target was computed) and an epoch of each member (how far it has come). Its records state all this one by one.
"""
