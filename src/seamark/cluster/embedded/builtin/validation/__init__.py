"""What makes an object of a built-in kind invalid, with the API server's sentences."""
