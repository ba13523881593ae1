"""Which of a provider's answers are about which record. Pure.

A provider that adjusts records answers with a list that may be longer or shorter, and with other types: of a CNAME to a
load balancer Route 53 makes an A and an AAAA record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seamark.providers.dns.model import Record, Slot

Forms = tuple[Record, ...]  # what a record becomes at the provider; nothing where the provider does not take it


def forms_of(records: Iterable[Record], answers: Iterable[Record]) -> dict[Record, Forms]:
    """By the record that was sent. Answers have no order, and those about other names are about none of them."""
    found: dict[Record, list[Record]] = {record: [] for record in records}
    sent: dict[str, list[Record]] = {}
    for record in found:
        sent.setdefault(record.name, []).append(record)
    left: list[Record] = []
    answered: set[Slot] = set()
    by_slot = {record.slot: record for record in found}
    for answer in answers:
        record_sent = by_slot.get(answer.slot)
        if record_sent is None:
            left.append(answer)
        elif answer.slot not in answered:
            found[record_sent].append(answer)
            answered.add(answer.slot)
    for answer in left:
        if (about := _about(answer, sent.get(answer.name, ()), answered)) is not None:
            found[about].append(answer)
    return {record: tuple(forms) for record, forms in found.items()}


def _about(answer: Record, sent: Sequence[Record], answered: set[Slot]) -> Record | None:
    """An answer in another form is about a record that has no answer in its own form; else it is one more."""
    candidates = [record for record in sent if record.set_identifier == answer.set_identifier] or list(sent)
    return next((record for record in candidates if record.slot not in answered), next(iter(candidates), None))
