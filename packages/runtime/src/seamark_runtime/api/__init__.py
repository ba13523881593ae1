"""Types of the Kubernetes API as frozen structs, one file per API group, and the generator of CRDs. No I/O."""
