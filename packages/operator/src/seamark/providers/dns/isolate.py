"""One refused record never holds its batch.

- Changes go in batches as large as the provider takes. A refused batch is halved until the refused changes are found,
  unless the provider names them; all others are applied. The cost is two messages for each halving, for each refused
  change.
- A change whose record has changed meanwhile is skipped and reported: it is to be read and planned again.
- `Unwritable` and `Retry` end it: they are about the zone, not about a record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from seamark.providers.dns.model import Change, Moved, Provider, RecordRefused


@dataclass
class Outcome:
    """What came of it: which changes the server refused, with its error, and which are out of date."""

    refused: dict[Change, str] = field(default_factory=dict)
    moved: list[Change] = field(default_factory=list)
    messages: int = 0


async def apply_each(provider: Provider, zone: str, changes: Sequence[Change], outcome: Outcome) -> None:
    """Fills in the outcome as it goes, so that what is known survives an end by an error."""
    for batch in batches(provider, changes):
        await _halving(provider, zone, batch, outcome)


def batches(provider: Provider, changes: Sequence[Change]) -> Iterator[list[Change]]:
    batch: list[Change] = []
    filled = 0.0
    for change in changes:
        weight = provider.weigh(change)
        if batch and filled + weight > 1.0 + 1e-9:
            yield batch
            batch, filled = [], 0.0
        batch.append(change)
        filled += weight
    if batch:
        yield batch


async def _halving(provider: Provider, zone: str, changes: Sequence[Change], outcome: Outcome) -> None:
    pending: list[Sequence[Change]] = [changes]
    while pending:
        batch = pending.pop()
        outcome.messages += 1
        try:
            await provider.apply(zone, batch)
        except (RecordRefused, Moved) as error:
            only = error.only if isinstance(error, RecordRefused) else frozenset()
            if named := [change for change in batch if change.slot in only]:
                outcome.refused.update(dict.fromkeys(named, error.message))
                if rest := [change for change in batch if change.slot not in only]:
                    pending.append(rest)
            elif len(batch) > 1:
                half = len(batch) // 2
                pending += [batch[half:], batch[:half]]
            elif isinstance(error, Moved):
                outcome.moved.append(batch[0])
            else:
                outcome.refused[batch[0]] = error.message
