"""The DNS family: records that people declare, on the name servers that serve them.

An object is read (`wishes`), all wishes for a zone are planned against what the server holds (`plan`, `registry`), the
difference is sent, and the status of each object is judged from what the server answered (`reconcile`).
"""
