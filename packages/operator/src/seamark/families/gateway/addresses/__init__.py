"""The addresses of this machine: of the ranges that are local here, one for each gateway."""
