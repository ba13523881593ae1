"""The echo server: an image of our own that responds with the request and the Pod that answered."""
