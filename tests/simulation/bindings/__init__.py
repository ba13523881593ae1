"""The bindings family in the simulator: an edge and a network outside; what they and the Services are is the oracle."""
