"""The gateway family: Gateway API routes whose status is never stale.

addresses ─► gateway ─► route ─► counts of routes
                │         └────► translation ─► the data plane
                └───────────────────┘  each publishes entries; the status of every object is judged from those about it
"""
