"""One module for each filter of Envoy that a route switches on; `table` has them in order."""
