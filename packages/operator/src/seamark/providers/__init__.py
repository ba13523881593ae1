"""Remote systems behind narrow protocols: edges, DNS servers, boards. Each has an in-memory fake."""
