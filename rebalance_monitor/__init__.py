"""Everything that is installed. The parts are folders at the top of the source tree, which this package links to."""
