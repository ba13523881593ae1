"""Domain: a host name, reserved at the edge."""
