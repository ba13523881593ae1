"""The BoundEndpoints of one `service.namespace` → their one target Service, and which of them has which port. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from seamark.families.bindings.bindinggroup.services import target_service
from seamark.families.bindings.bindinggroup.state import TARGET, Member, Seen
from seamark.families.bindings.model.endpoints import by_age
from seamark.families.bindings.model.entries import NAMESPACE_NOT_ALLOWED, GroupReport, PortName
from seamark_edge.api.bindings import BoundEndpoint
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers, Refusal
from seamark_runtime.controller import Wanted


def members_of(endpoints: Iterable[BoundEndpoint], displaced: Collection[Key] = ()) -> tuple[Member, ...]:
    """By age; of two on one port, the older has it."""
    holders: dict[int, BoundEndpoint] = {}
    members = []
    for endpoint in by_age(endpoints):
        name, elsewhere = PortName(endpoint.spec.target.port, endpoint.spec.scheme), endpoint.key in displaced
        holder = endpoint if elsewhere else holders.setdefault(name.port, endpoint)
        lost_to = None if holder is endpoint else holder.key
        members.append(Member(endpoint, name, lost_to, elsewhere))
    return tuple(members)


def desire(seen: Seen) -> Wanted:
    """The target is deleted with the last member."""
    if not seen.serving:
        return Wanted()
    ports = tuple(sorted(member.port for member in seen.serving))
    return Wanted(children={TARGET: target_service(seen.key, seen.serving[0].endpoint, ports, seen.options)})


def report(seen: Seen, answers: Answers) -> Mapping[Key, GroupReport]:
    ports = tuple(sorted((member.port, member.endpoint.spec.port) for member in seen.serving))
    target = answers.ref(TARGET)
    refusal = answers.refusal(TARGET) or not_allowed(seen)
    shared = GroupReport(ports, Key(target.namespace, target.name) if target else None, refusal)
    undeleted = next((refusal.message for refusal in answers.undeleted), "")
    reports = {member.endpoint.key: report_of(member, shared) for member in seen.members}
    for key in seen.deleting if undeleted else ():
        reports[key] = GroupReport((), undeleted=undeleted)
    return reports


def report_of(member: Member, shared: GroupReport) -> GroupReport:
    if member.displaced:
        return GroupReport(())
    if member.lost_to is None:
        return shared
    visible = member.lost_to.namespace == member.endpoint.metadata.namespace
    holder = f"BoundEndpoint {member.lost_to.name}" if visible else "an older BoundEndpoint"
    return GroupReport((), conflict=f"port {member.port.port} of this target belongs to {holder}")


def not_allowed(seen: Seen) -> Refusal | None:
    if seen.options.allows(seen.key.namespace):
        return None
    message = f"targets in namespace {seen.key.namespace} are not allowed in this installation"
    return Refusal(message, reason=NAMESPACE_NOT_ALLOWED)
