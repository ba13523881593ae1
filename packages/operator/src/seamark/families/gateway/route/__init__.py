"""Routes of every kind: attached to their parents one by one; their status is judged from the entries about them."""
