"""Wire types: what Kubernetes stores, as frozen structs. One file per API group; nothing here does I/O."""
