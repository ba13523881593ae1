"""Faults with a known time of injection and of repair, by family."""
