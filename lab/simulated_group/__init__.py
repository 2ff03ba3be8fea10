"""A Connect group of simulated workers on a real broker, with faults to switch on."""
