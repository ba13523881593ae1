"""BoundEndpoint: its upstream Service, a probe through it, and its conditions."""
