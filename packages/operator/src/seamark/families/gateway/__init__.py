"""The gateway family: Gateway API routes whose status is never stale.

Routes are attached one by one (`attachments`), gateways gather what attached to them (`gateways`), and the status of
a route (`routes`) is judged from the entries about it: no entry, no statement.
"""
