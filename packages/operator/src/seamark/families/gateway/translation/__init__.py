"""The translation of a gateway and its routes for the data plane, and what the data plane answers."""
