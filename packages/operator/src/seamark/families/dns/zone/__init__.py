"""A zone: one key for all objects that have records there. Their status is judged from its entries about them."""
