"""Failures of a provider in the log: each once, and when it has ended."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from seamark.providers.dns.model import Change

MOST_LISTED = 20  # refused changes of one update
MOST_KNOWN = 10_000  # refused changes of a zone
log = structlog.get_logger(__name__)


class FailureLog:
    """Contract: a failure of the same kind of call in the same zone is logged again only with another error.

    - `_failing`: by zone and kind of call, the error that was logged last. `_refused`: by zone, the refused changes.
    """

    def __init__(self) -> None:
        self._failing: dict[tuple[str, str], str] = {}
        self._refused: dict[str, dict[Change, str]] = {}

    def failed(self, zone: str, call: str, error: str) -> None:
        if self._failing.get((zone, call)) != error:
            self._failing[zone, call] = error
            log.warning("the DNS provider fails", zone=zone or ".", call=call, error=error)

    def succeeded(self, zone: str, call: str) -> None:
        if self._failing.pop((zone, call), None) is not None:
            log.info("the DNS provider works again", zone=zone or ".", call=call)

    def refused(self, zone: str, changes: Mapping[Change, str], tried: tuple[Change, ...]) -> None:
        """Of the changes that were tried these are refused, the others accepted."""
        known = self._refused.setdefault(zone, {})
        new = [change for change, error in changes.items() if known.get(change) != error]
        for change in tried:
            known.pop(change, None)
        known.update(changes)
        while len(known) > MOST_KNOWN:
            del known[next(iter(known))]
        for change in new[:MOST_LISTED]:
            log.warning("a change of DNS was refused", zone=zone or ".", change=str(change), error=changes[change])
        if len(new) > MOST_LISTED:
            log.warning("more changes of DNS were refused", zone=zone or ".", number=len(new) - MOST_LISTED)
