"""Score files, as developers write them."""
