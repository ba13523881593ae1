"""A projection, the BoundEndpoint that is made for it, and the endpoints in its status."""
