"""Kinds of the families as frozen structs, one file per API group. No I/O."""
