"""The provisioner fulfils claims by the platform's templates: with values, and the name of a Secret."""
