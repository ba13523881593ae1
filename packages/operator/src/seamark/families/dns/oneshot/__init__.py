"""The commands that end by themselves: a dry run, and one sync."""
