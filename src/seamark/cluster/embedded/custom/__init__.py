"""Kinds that a CustomResourceDefinition brings: their schema, defaults, rules and life."""
