"""One Envoy's side of delta xDS, as a state that requests and snapshots change. No I/O.

- Make before break: clusters and who is behind them first, then listeners and routes that use them, and what is no
  longer used goes last; the next step waits for the acknowledgement of the one before. So no request meets a cluster
  that is not there yet, or not there any more.
- A changed cluster gets its endpoints again: Envoy warms it anew, and waits for them.
- Sent is not taken: only an ACK makes a resource `taken`. After a NACK it is not known what Envoy has of that response;
  its resources are sent again with the next target, and the last good ones are served meanwhile.
- A stream begins with what Envoy has of an earlier one, perhaps from another process: that is sent again, or removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf import any_pb2

from seamark_edge.dataplane.envoy.resources import CDS, EDS, LDS, RDS, SDS, parts
from seamark_edge.dataplane.model import Snapshot

log = structlog.get_logger(__name__)

REFUSED = object()  # in place of a resource that was sent: Envoy has it not, or in part
UNKNOWN = object()  # in place of a resource that Envoy has of an earlier stream
DUMP, TRUNCATED = "goo.gle/debug", "...(truncated)"
NOT_VALID = "a field has a value that Envoy does not take"
SUBSCRIBED_BY_NAME = (EDS, SDS, RDS)  # Envoy names those it wants; of the others it gets all


@dataclass(eq=False)
class Prepared:
    """A snapshot with its resources in Envoy's format, each made once: what has not changed is taken over."""

    snapshot: Snapshot
    number: int = 0
    made: dict[tuple[str, str], tuple[Any, any_pb2.Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._parts: Mapping[str, tuple[Mapping[str, Any], Callable[[Any], Any]]] = parts(self.snapshot)

    def after(self, before: Prepared | None) -> Prepared:
        if before is not None:
            self.number = before.number + 1
            for (kind, name), (resource, packed) in before.made.items():
                if self.of(kind).get(name) == resource:
                    self.made[(kind, name)] = (resource, packed)
        return self

    def of(self, kind: str) -> Mapping[str, Any]:
        return self._parts[kind][0]

    def packed(self, kind: str, name: str) -> any_pb2.Any:
        known = self.made.get((kind, name))
        if known is None:
            resource = self.of(kind)[name]
            made = self._parts[kind][1](resource)
            content = made if isinstance(made, bytes) else made.SerializeToString(deterministic=True)
            wrapped = any_pb2.Any(type_url=kind, value=content)
            known = self.made[(kind, name)] = (resource, wrapped)
        return known[1]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error of Envoy, and about which resources."""

    message: str
    resources: tuple[str, ...]

    def after(self, earlier: Refusal | None) -> Refusal:
        """With an earlier one of the same target."""
        if earlier is None:
            return self
        message = self.message if self.message == earlier.message else f"{earlier.message}; {self.message}"
        return Refusal(message, (*earlier.resources, *self.resources))


@dataclass(eq=False, slots=True)
class _Type:
    """What one Envoy asked for, was sent and took of one type."""

    wanted: set[str] = field(default_factory=set)
    sent: dict[str, Any] = field(default_factory=dict)
    taken: dict[str, Any] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)  # removals on their way


class Session:
    """Contract: that of this module. `done`: everything of the target was taken; `refusal`: something was not."""

    def __init__(self) -> None:
        self.target: Prepared | None = None
        self.refusal: Refusal | None = None
        self._types = {kind: _Type() for kind in (CDS, EDS, SDS, LDS, RDS)}
        self._subscribed: set[str] = set()  # types that Envoy has asked about at all
        self._responded: set[str] = set()  # types with a first response: Envoy waits for one, even if it is empty
        # nonce → type, resources, removals, and of which target
        self._flying: dict[str, tuple[str, dict[str, Any], set[str], Prepared | None]] = {}
        self._nonce = 0
        self._earlier = 0  # how many resources of an earlier stream it has named

    @property
    def done(self) -> bool:
        """Everything of the target was taken, and nothing else is left."""
        if self.target is None or self.refusal is not None or self._flying:
            return False
        return all(map(self._complete, self._types)) and not any(map(self._extra, (CDS, LDS)))

    @property
    def refused(self) -> Refusal | None:
        """What was not taken of the target, when Envoy has answered to everything that it was sent."""
        return None if self._flying else self.refusal

    @property
    def names(self) -> int:
        """How many resources Envoy has named."""
        return self._earlier + sum(len(kind.wanted) for kind in self._types.values())

    def aim(self, target: Prepared) -> None:
        self.target = target
        self.refusal = None

    def received(self, request: discovery_pb2.DeltaDiscoveryRequest) -> None:
        kind = self._types.get(request.type_url)
        if kind is None:
            return
        if request.type_url not in self._subscribed and request.type_url not in SUBSCRIBED_BY_NAME:
            kind.sent.update(dict.fromkeys(request.initial_resource_versions, UNKNOWN))
            self._earlier += len(request.initial_resource_versions)
        self._subscribed.add(request.type_url)
        if request.response_nonce:
            self._answered(request)
        for name in request.resource_names_unsubscribe:
            kind.wanted.discard(name)
            kind.sent.pop(name, None)
            kind.taken.pop(name, None)
        for name in request.resource_names_subscribe:
            if name != "*":
                kind.wanted.add(name)
                kind.sent.pop(name, None)  # asked for anew: it has none, or wants it again

    def _answered(self, request: discovery_pb2.DeltaDiscoveryRequest) -> None:
        flight = self._flying.pop(request.response_nonce, None)
        if flight is None:
            return
        url, resources, removed, target = flight
        kind = self._types[url]
        kind.gone -= removed
        if request.HasField("error_detail"):
            if target is self.target:  # of an earlier one, what is still wanted is sent again
                self.refusal = Refusal(plain(request.error_detail.message), tuple(resources)).after(self.refusal)
            for name in resources:
                kind.taken.pop(name, None)
                if name in kind.sent:
                    kind.sent[name] = REFUSED
            return
        kind.taken.update(resources)
        for name in removed:
            kind.taken.pop(name, None)
            kind.sent.pop(name, None)

    # ---- what to send

    def responses(self) -> list[discovery_pb2.DeltaDiscoveryResponse]:
        """What can be sent now. The rest follows when Envoy has answered."""
        if self.target is None or self.refusal is not None:
            return []
        found = [self._upserts(kind) for kind in (CDS, EDS, SDS)]
        if self._ready_behind():
            found += [self._upserts(kind) for kind in (LDS, RDS)]
            if all(self._complete(kind) for kind in (LDS, RDS)):
                found.append(self._removals(LDS))
                if not self._extra(LDS):
                    found.append(self._removals(CDS))  # what only it has subscribed to, Envoy drops by itself
        return [response for response in found if response is not None]

    def _relevant(self, kind: str) -> list[str]:
        """The names of a type that Envoy should have."""
        assert self.target is not None
        names = self.target.of(kind)
        if kind not in SUBSCRIBED_BY_NAME:
            return list(names)
        wanted = self._types[kind].wanted
        return (
            [name for name in names if name in wanted]
            if len(wanted) >= len(names)
            else [n for n in wanted if n in names]
        )

    def _complete(self, kind: str) -> bool:
        """Envoy has taken all of this type, and has asked for all of it."""
        assert self.target is not None
        names, taken = self.target.of(kind), self._types[kind].taken
        return all(name in taken and taken[name] == resource for name, resource in names.items())

    def _ready_behind(self) -> bool:
        return all(self._complete(kind) for kind in (CDS, EDS))

    def _extra(self, kind: str) -> list[str]:
        assert self.target is not None
        state, names = self._types[kind], self.target.of(kind)
        return [name for name in state.sent if name not in names]

    def _upserts(self, url: str) -> discovery_pb2.DeltaDiscoveryResponse | None:
        assert self.target is not None
        if url not in self._subscribed:
            return None
        kind, names = self._types[url], self.target.of(url)
        changed = [name for name in self._relevant(url) if name not in kind.sent or kind.sent[name] != names[name]]
        if not changed and (url in SUBSCRIBED_BY_NAME or url in self._responded):
            return None
        self._responded.add(url)
        encoded = self._encoded(url, changed)
        if encoded is None:
            return None
        response = self._response(url)
        for name, resource in zip(changed, encoded, strict=True):
            kind.sent[name] = names[name]
            if url == CDS:
                self._types[EDS].sent.pop(name, None)
                self._types[EDS].taken.pop(name, None)
            response.resources.add(name=name, version=str(self.target.number), resource=resource)
        self._flying[response.nonce] = (url, {name: names[name] for name in changed}, set(), self.target)
        return response

    def _encoded(self, url: str, names: list[str]) -> list[any_pb2.Any] | None:
        """The resources as they are sent. One that can't be encoded counts as refused: its stream goes on."""
        assert self.target is not None
        found = []
        for name in names:
            try:
                found.append(self.target.packed(url, name))
            except Exception as error:
                log.exception("a resource can't be encoded: this is a bug in Seamark", type=url)
                self.refusal = Refusal(f"it can't be encoded: {error}", (name,))
                return None
        return found

    def _removals(self, url: str) -> discovery_pb2.DeltaDiscoveryResponse | None:
        kind = self._types[url]
        extra = [name for name in self._extra(url) if name not in kind.gone]
        if not extra or url not in self._subscribed:
            return None
        assert self.target is not None
        response = self._response(url)
        response.removed_resources.extend(extra)
        kind.gone.update(extra)
        self._flying[response.nonce] = (url, {}, set(extra), self.target)
        return response

    def _response(self, url: str) -> discovery_pb2.DeltaDiscoveryResponse:
        assert self.target is not None
        self._nonce += 1
        return discovery_pb2.DeltaDiscoveryResponse(
            type_url=url, nonce=str(self._nonce), system_version_info=str(self.target.number)
        )


def plain(error: str) -> str:
    """Envoy's error without the resource. Before some errors it prints all of it, and other tenants' values with it.

    Line breaks inside of values are escaped there, so the error itself is what follows the last line break.
    """
    if DUMP not in error:
        return error
    cause = error.rpartition("\n")[2].strip(" :()")
    return f"{NOT_VALID}: {cause}" if cause and not error.endswith(TRUNCATED) else NOT_VALID
