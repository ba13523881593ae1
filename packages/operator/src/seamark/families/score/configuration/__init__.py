"""The platform configuration: an event where it is invalid, and a copy of the last valid one."""
