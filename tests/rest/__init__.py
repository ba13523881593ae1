"""The hour of rest: the product with all examples, and nothing changes. What is written meanwhile is counted."""
