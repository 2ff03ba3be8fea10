"""The laws of Connect groups, and the rules that they look for."""
