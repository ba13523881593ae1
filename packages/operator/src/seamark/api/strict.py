"""Parts of objects of which every field is served: one that is not known is refused by its name, never dropped."""

from __future__ import annotations

from seamark_runtime.api.meta import Wire


class Strict(Wire, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a policy of which every field is served."""


class Empty(Strict, frozen=True, kw_only=True):
    """A field whose presence is all that it has to say: `disable: {}`."""
