"""What all kinds of policies share: the status by ancestor, that is by gateway."""
