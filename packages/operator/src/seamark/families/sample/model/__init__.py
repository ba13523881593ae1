"""What the kinds of the family share."""
