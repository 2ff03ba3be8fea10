"""Whose clock it is: the coordinator's, the monitor's, workers', and those of a whole input.

What one clock says of another is never a point. A time that lies back lies back a `Span`: surely so long, possibly so
long, and a clock is ahead of another one by an interval (`span`). How far the time of a group's records can be
believed is said in `coordinator`; what else confirms it in an input that nobody read as it came, in `others`.
"""
