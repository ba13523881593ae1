"""Gateway: its listeners, certificates and addresses, published as a view; and its status."""
