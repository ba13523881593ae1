"""The witness: compares what the product's statuses claim with what ordinary clients see.

It starts the product by its commands, reads objects as JSON from the API server, and imports nothing of the product.
"""
