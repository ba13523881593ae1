"""The BoundEndpoints of one `service.namespace`, and their one target Service."""
