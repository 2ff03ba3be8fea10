"""Advice that is played before it is given: a Connect group in memory, and what a step does to it."""
