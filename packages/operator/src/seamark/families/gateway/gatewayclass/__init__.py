"""GatewayClass: the class of the configured name exists, and classes of our controller are accepted."""
