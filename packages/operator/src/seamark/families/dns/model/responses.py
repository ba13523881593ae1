"""What the provider has answered: written by `Remote`, read and expired by the memory of the zones.

No function of a reconcile changes this. `Remote` writes when a call has ended, the memory of the zones when time has
passed or the plan has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from seamark.families.dns.model.adjustments import Forms, forms_of
from seamark.families.dns.model.expiring import Expiring, Pauses
from seamark.families.dns.model.lookups import Lookups
from seamark.providers.dns.model import Change, Content, QueryResults, Record
from seamark_runtime.source import Facts, Fresh, Stale

MOST_REFUSALS = 10_000
MOST_ADJUSTED = 100_000
MOST_ALONE = 50  # refused changes that are tried again at the same time
REFUSED = Pauses(first=1.0, most=60.0)  # of a change that is tried again alone
LONGEST_SHARE = 10.0  # many refused changes are tried again more slowly, so many times at most

Refusals = Mapping[Change, str]  # changes that the server refused, with its error
Adjusted = Expiring[Record, Forms]  # records as the provider adjusts them


class Responses:
    """The responses about each zone.

    - `contents`: what the server holds. It goes stale when the server has not confirmed it for `shelf_life` seconds.
    - `refusals`: what the server refused, until it takes it. A refusal expires: then the change is due for a retry.
    - `adjustments`: how many answers of the provider there were; the answers themselves are in `adjusted`. They
      expire, too: then the provider is asked again, whether it took the record or not.
    - `asked`: how often the authoritative name servers were asked; what they answered is in `lookups`.
    """

    def __init__(self, shelf_life: float, *, adjusts: bool, asking: float = float("inf")) -> None:
        """`asking`: seconds between two questions about a record to its name servers."""
        self.contents: Facts[str, Content] = Facts("zone contents")
        self.refusals: Facts[str, Refusals] = Facts("refused records")
        self.adjustments: Facts[str, int] = Facts("adjusted records")
        self.queried: Facts[str, int] = Facts("answers of name servers")
        self._shelf_life = shelf_life
        self._asking = asking
        self._lookups: dict[str, Lookups] = {}
        self._confirmed: dict[str, str] = {}  # by zone, when the server confirmed its content, for people
        self._adjusts = adjusts
        self._adjusted: dict[str, Adjusted] = {}
        self._refused: dict[str, Expiring[Change, str]] = {}

    def content(self, zone: str, now: float) -> Content | None:
        """What the server was last known to hold."""
        fact = self.contents.get(zone, now)
        return fact.value if isinstance(fact, Fresh | Stale) else None

    def refused(self, zone: str) -> int:
        return len(self._refused.get(zone, ()))

    def adjusted(self, zone: str) -> Adjusted | None:
        """None where the provider takes records as they are."""
        return self._adjusted.setdefault(zone, Expiring(MOST_ADJUSTED)) if self._adjusts else None

    def lookups(self, zone: str) -> Lookups:
        return self._lookups.setdefault(zone, Lookups(self._asking))

    def confirmed(self, zone: str) -> str:
        """When the server last confirmed what it holds; empty if it has not yet."""
        return self._confirmed.get(zone, "")

    # ---- written when a call has ended

    def answered(self, zone: str, records: Sequence[Record], found: QueryResults, now: float, moment: str) -> None:
        """The authoritative name servers were asked."""
        self.lookups(zone).answered(records, found, now, moment)
        known = self.queried.get(zone, now)
        self.queried.put(zone, known.value + 1 if isinstance(known, Fresh) else 1)

    def confirm(self, zone: str, content: Content, now: float, moment: str = "") -> bool:
        """The server holds this now. Returns whether that is new."""
        self._confirmed[zone] = moment
        known = self.contents.get(zone, now)
        same = isinstance(known, Fresh) and known.value is content
        # At rest a confirmation requeues nothing, unless the last one is old.
        if not (same and isinstance(known, Fresh) and known.expires - now > self._shelf_life / 2):
            self.contents.put(zone, content, now + self._shelf_life)
        return not same

    def adjust(self, zone: str, records: Sequence[Record], answers: Sequence[Record], now: float) -> None:
        adjusted = self.adjusted(zone)
        if adjusted is None:
            return
        for record, forms in forms_of(records, answers).items():
            adjusted.put(record, forms, now, refused=not forms)
        known = self.adjustments.get(zone, now)
        self.adjustments.put(zone, known.value + 1 if isinstance(known, Fresh) else 1)

    def attempted(self, zone: str, tried: Sequence[Change], refused: Refusals, now: float, *, alone: bool) -> None:
        """These changes were sent, and those of them are refused; the others are accepted."""
        known = self._refused.setdefault(zone, Expiring(MOST_REFUSALS, REFUSED))
        accepted = [change for change in tried if change in known and change not in refused]
        for change in accepted:
            known.forget(change)
        if alone and accepted:
            known.expire_refusals()
        share = min(LONGEST_SHARE, max(1.0, len(known) / MOST_ALONE))
        for change, message in refused.items():
            known.put(change, message, now, refused=True, share=share)
        self._publish_refusals(zone, known)

    # ---- written when time has passed, or the plan has changed

    def forget_lookups(self, zone: str) -> None:
        self._lookups.pop(zone, None)

    def expire(self, zone: str, now: float) -> float:
        """Responses whose time has come count as expired. Returns when the next one expires."""
        responses = [known for known in (self._adjusted.get(zone), self._refused.get(zone)) if known is not None]
        for known in responses:
            known.expire(now)
        return min((known.next for known in responses), default=float("inf"))

    def forget_unplanned(self, zone: str, planned: Callable[[Change], bool]) -> bool:
        """Expired refusals of changes that are not in the plan any more are forgotten. Returns whether there were."""
        refused = self._refused.get(zone)
        gone = [change for change in refused.expired if not planned(change)] if refused is not None else []
        if refused is None or not gone:
            return False
        for change in gone:
            refused.forget(change)
        self._publish_refusals(zone, refused)
        return True

    def due(self, zone: str) -> tuple[Change, ...]:
        """Refused changes to be tried again now."""
        refused = self._refused.get(zone)
        return tuple(islice(refused.expired, MOST_ALONE)) if refused is not None else ()

    def _publish_refusals(self, zone: str, known: Expiring[Change, str]) -> None:
        if known or isinstance(self.refusals.get(zone, 0.0), Fresh):
            self.refusals.put(zone, dict(known))
