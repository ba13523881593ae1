"""The BoundEndpoints of one `service.namespace`: their one target Service, and who may have which port. Pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass

from seamark.families.bindings.services import target_service
from seamark.families.bindings.state import TARGET, GroupReport, Member, PortName, Settings
from seamark_edge.api.bindings import BoundEndpoint
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers, Refusal
from seamark_runtime.controller import Wanted

NOT_ALLOWED = "NamespaceNotAllowed"


@dataclass(frozen=True)
class SeenGroup:
    key: Key
    members: tuple[Member, ...]  # the oldest first
    settings: Settings
    leaving: tuple[Key, ...] = ()  # members that are being deleted

    @property
    def serving(self) -> tuple[Member, ...]:
        if not self.settings.allows(self.key.namespace):
            return ()
        return tuple(member for member in self.members if member.lost_to is None and not member.displaced)


def by_age(endpoints: Iterable[BoundEndpoint]) -> list[BoundEndpoint]:
    return sorted(endpoints, key=_age)


def _age(endpoint: BoundEndpoint) -> tuple[str, str, str]:
    meta = endpoint.metadata
    return meta.creation_timestamp or "", meta.namespace, meta.name


def members_of(endpoints: Iterable[BoundEndpoint], displaced: Collection[Key] = ()) -> tuple[Member, ...]:
    """By age; of two on one port, the older has it, and the younger one names it."""
    holders: dict[int, BoundEndpoint] = {}
    members = []
    for endpoint in by_age(endpoints):
        name, elsewhere = PortName(endpoint.spec.target.port, endpoint.spec.scheme), endpoint.key in displaced
        holder = endpoint if elsewhere else holders.setdefault(name.port, endpoint)
        lost_to = None if holder is endpoint else holder.key
        members.append(Member(endpoint, name, lost_to, elsewhere))
    return tuple(members)


def desire(seen: SeenGroup) -> Wanted:
    """The last member to go takes the target with it."""
    if not seen.serving:
        return Wanted()
    ports = tuple(sorted(member.port for member in seen.serving))
    return Wanted(children={TARGET: target_service(seen.key, seen.serving[0].endpoint, ports, seen.settings)})


def report(seen: SeenGroup, answers: Answers) -> Mapping[Hashable, GroupReport]:
    ports = tuple(sorted((member.port, member.endpoint.spec.port) for member in seen.serving))
    target = answers.ref(TARGET)
    refusal = answers.refusal(TARGET) or not_allowed(seen)
    shared = GroupReport(ports, Key(target.namespace, target.name) if target else None, refusal)
    kept = next((refusal.message for refusal in answers.undeleted), "")
    reports: dict[Hashable, GroupReport] = {member.endpoint.key: report_of(member, shared) for member in seen.members}
    for key in seen.leaving if kept else ():
        reports[key] = GroupReport((), undeleted=kept)
    return reports


def report_of(member: Member, shared: GroupReport) -> GroupReport:
    if member.displaced:
        return GroupReport(())
    if member.lost_to is None:
        return shared
    here = member.lost_to.namespace == member.endpoint.metadata.namespace
    holder = f"BoundEndpoint {member.lost_to.name}" if here else "an older BoundEndpoint"
    return GroupReport((), conflict=f"port {member.port.port} of this target belongs to {holder}")


def not_allowed(seen: SeenGroup) -> Refusal | None:
    if seen.settings.allows(seen.key.namespace):
        return None
    words = f"targets in namespace {seen.key.namespace} are not allowed in this installation"
    return Refusal(words, reason=NOT_ALLOWED)
