"""What the edge lists for this installation, as projections with ports."""
