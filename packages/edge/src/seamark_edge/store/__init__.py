"""The edge's state: small JSON records and secrets, mirrored in memory, kept in a database.

| module | what it has |
|---|---|
| `record` | records, and the changes of them that a database writes |
| `database` | what a database has to do; the errors of one |
| `schema` | which versions of a schema this program works with |
| `sqlite`, `postgres` | the two databases |
| `store` | the mirror: reads from memory, changes in order, outages |
| `recovery` | what is written, adopted and forgotten when a database answers again |
| `address`, `opening` | a store by its address |
"""
