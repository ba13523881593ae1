"""The REST API: the v2 paths and bodies that the public clients speak."""
