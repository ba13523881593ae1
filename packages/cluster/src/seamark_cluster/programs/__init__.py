"""Local programs in place of images that examples use: each does what the image does, with Python's library alone."""
