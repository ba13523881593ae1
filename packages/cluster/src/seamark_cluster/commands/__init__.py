"""Developer commands of the `seamark` command line. They may import the operator; the rest of the package does not."""
