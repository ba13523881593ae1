"""Quantities in a Workload: those of Kubernetes, without a sign and within what the API server can count."""

from __future__ import annotations

from seamark_runtime import quantity
from seamark_runtime.quantity import Quantity

LARGEST = 2**63 - 1  # the API server lowers larger amounts to this without an error
LONGEST = 32  # characters, as in the Workload's schema


class InvalidQuantity(ValueError):
    """The text is not a quantity within the limits. The message fits after the name of a field."""


def check(text: str) -> None:
    """Raises InvalidQuantity where `canonical` would return the text unchanged."""
    _parse(text)


def canonical(text: str) -> str:
    """The same amount as the API server writes it; any other form would always differ from the stored object.

    A text that is not a quantity is returned unchanged: the API server refuses it.
    """
    try:
        return str(_parse(text))
    except InvalidQuantity:
        return text


def _parse(text: str) -> Quantity:
    try:
        found = quantity.parse(text) if len(text) <= LONGEST and text[:1] not in ("+", "-") else None
    except quantity.InvalidQuantity:
        found = None
    if found is None or found.suffix in ("n", "u"):
        shown = text if len(text) <= LONGEST else text[:LONGEST] + "..."
        raise InvalidQuantity(f"{shown!a} is not a quantity: write a number and a unit, as in 500m or 1.5Gi")
    if found.amount > LARGEST:
        raise InvalidQuantity(f"{text} is too large: Kubernetes counts up to {LARGEST}")
    return found
