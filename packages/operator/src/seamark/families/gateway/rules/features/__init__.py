"""One module for each field of a TrafficPolicy that is a filter of the data plane; `table` has all of them."""
