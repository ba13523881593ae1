"""AgentEndpoint: an endpoint that agents hold."""
