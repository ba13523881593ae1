"""The sample family in the simulator."""
