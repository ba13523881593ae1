"""Networks of our own on one machine: closed ones for tests, and an address for each Pod."""
