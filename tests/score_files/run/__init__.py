"""Runs the corpus against `seamark dev`: what a user applies, and what they find with kubectl and curl."""
