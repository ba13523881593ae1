"""The provisioner gives what a claim asks for, by the platform's templates: values, and the name of a Secret."""
