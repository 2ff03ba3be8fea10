"""Share groups (KIP-932): several members may hold one partition, and each moves to a new target at once."""
