"""Networks on one machine: isolated ones for tests, and an address for each Pod."""
