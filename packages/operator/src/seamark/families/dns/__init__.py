"""The DNS family: records that people declare, on the name servers that serve them.

The records that objects desire (`model.desired`) are planned for each zone against what the server holds (`planning`),
the difference is sent (`zone`, `remote`), and the status of each DNSEndpoint is judged from the entries of its zones
(`dnsendpoint`). Names of other objects (`sources`) become records, too (`generatedendpoint`, `sourceobject`).
"""
