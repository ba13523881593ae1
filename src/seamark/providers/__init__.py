"""Outside worlds behind narrow protocols: edges, DNS servers, data planes. Each has an in-memory twin."""
