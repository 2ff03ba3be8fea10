"""What is said of groups and rebalances in plain words: for the page and for commands. Pure: published documents in,
texts out, no clock.
"""
