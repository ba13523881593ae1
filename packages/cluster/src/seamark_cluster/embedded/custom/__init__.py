"""Kinds from CustomResourceDefinitions: their schema, defaults, rules and lifecycle."""
