"""CloudEndpoint: an endpoint that the edge keeps."""
