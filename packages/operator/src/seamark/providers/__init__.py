"""Remote systems behind narrow protocols: edges and DNS servers. Each has an in-memory fake."""
