"""Objects of other kinds with names and annotations that can't be served: reported as events on these objects.

Only invalid names are reported. A name outside of our zones may be served by another operator.
"""
