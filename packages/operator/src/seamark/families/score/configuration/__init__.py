"""The keeper of the platform's configuration: it tells what is wrong with it, and keeps the last good one."""
