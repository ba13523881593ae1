"""The echo server: an image of our own that says what it was asked, by whom, and who answers."""
