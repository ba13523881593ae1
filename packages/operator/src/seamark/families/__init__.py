"""What Seamark does for its users, a family at a time. Families do not know each other."""
