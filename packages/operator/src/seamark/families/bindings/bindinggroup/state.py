"""What the decisions about a group are made from."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.families.bindings.model.entries import PortName
from seamark.families.bindings.model.options import Options
from seamark_edge.api.bindings import BoundEndpoint
from seamark_runtime.api.meta import Key

TARGET = "target service"  # the role of the child


@dataclass(frozen=True)
class Member:
    """A BoundEndpoint of a group, with its port, or the older member that has this port."""

    endpoint: BoundEndpoint
    port: PortName
    lost_to: Key | None = None
    displaced: bool = False  # forwarders of an older BoundEndpoint listen on the port of its own


@dataclass(frozen=True)
class Seen:
    key: Key
    members: tuple[Member, ...]  # the oldest first
    options: Options
    deleting: tuple[Key, ...] = ()  # members that are being deleted

    @property
    def serving(self) -> tuple[Member, ...]:
        if not self.options.allows(self.key.namespace):
            return ()
        return tuple(member for member in self.members if member.lost_to is None and not member.displaced)
