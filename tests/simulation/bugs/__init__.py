"""Bugs that are planted on purpose, to see that the simulator finds them."""
