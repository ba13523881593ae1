"""Domain → a reserved name. No client, no clock."""

from __future__ import annotations

from seamark.api.ngrokingress import (
    CertificateRef,
    DomainStatus,
    ManagementPolicy,
    ManagementStatus,
    ProvisioningJob,
    ResolvesTo,
)
from seamark.families.loadbalancer.domain.state import CERTIFICATE, CREATED, DNS, READY, GiveUp, Reserve, Seen
from seamark.families.loadbalancer.model.conditions import edge_as, is_refusal
from seamark.families.loadbalancer.model.hosts import host_of
from seamark.families.loadbalancer.model.metadata import for_edge
from seamark.families.loadbalancer.model.names import FINALIZER, owner_of
from seamark_edge import model
from seamark_runtime.api.meta import Condition
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Call, Failed
from seamark_runtime.controller import Wanted
from seamark_runtime.source import Fresh, NotYet, Stale

NOT_CONFIRMED = "The edge has not confirmed the domain"
NOT_ANSWERED = "The edge has not answered about the domain"


def desire(seen: Seen) -> Wanted:
    ours = FINALIZER in (seen.domain.metadata.finalizers or ())
    if seen.options.drain == "Retain" and ours and not seen.domain.deleting:
        return Wanted()
    if seen.domain.deleting or seen.options.drain:
        return Wanted(calls=(give_up(seen),), finalizer=not given_up(seen)) if ours else Wanted()
    if invalid(seen):
        return Wanted(finalizer=ours)  # what may be at the edge under our mark is given up on deletion
    if seen.holder is not None or seen.kept:
        return Wanted(calls=(give_up(seen),), finalizer=True) if ours else Wanted()
    return Wanted(calls=(reserve(seen),), finalizer=True)


def judge(seen: Seen, _answers: Answers) -> DomainStatus:
    found, created = reserved(seen)
    certificate, dns = certificate_of(created, found), dns_of(created, found)
    parts = (created, certificate, dns, *edge_as(seen.reachable))
    ready = READY.worst_of(*parts, otherwise=("DomainActive", "The domain is active"))
    conditions = (created, certificate, dns, ready)
    if found is not None:
        return shown(found, conditions)
    status = seen.domain.status
    if status is None or created.status == "False":
        return DomainStatus(conditions=conditions)
    return DomainStatus(  # no response: what was published stays
        conditions=conditions,
        id=status.id,
        domain=status.domain,
        resolves_to=status.resolves_to,
        cname_target=status.cname_target,
        acme_challenge_cname_target=status.acme_challenge_cname_target,
        certificate=status.certificate,
        certificate_management_policy=status.certificate_management_policy,
        certificate_management_status=status.certificate_management_status,
    )


def reserved(seen: Seen) -> tuple[model.Domain | None, Condition]:  # noqa: PLR0911  one row per response
    """The domain as the edge has it, and its condition."""
    if seen.domain.deleting or seen.options.drain:
        return None, releasing(seen)
    if message := invalid(seen):
        return None, CREATED.false("DomainInvalid", message)
    if seen.holder is not None or seen.kept:
        return None, CREATED.false("DomainTaken", taken(seen))
    match seen.results.to(reserve(seen)):
        case Fresh(value=found):
            return found, CREATED.true("DomainCreated", "The edge has reserved the domain")
        case Stale(value=found):
            return found, CREATED.unverified(NOT_CONFIRMED)
        case Failed(message=message) as failed if is_refusal(failed):
            return None, CREATED.false("DomainCreationFailed", message)
        case Failed(message=message):
            known = seen.domain.status is not None and seen.domain.status.id
            return None, CREATED.unverified(NOT_CONFIRMED if known else NOT_ANSWERED, message)
        case NotYet():
            return None, CREATED.not_yet("Pending", "The edge has not answered yet")


def releasing(seen: Seen) -> Condition:
    match seen.results.to(give_up(seen)):
        case Failed(message=message):
            return CREATED.unknown("Releasing", f"The edge does not give it up: {message}")
        case _:
            return CREATED.unknown("Releasing", "The edge is asked to give the domain up")


def certificate_of(created: Condition, found: model.Domain | None) -> Condition:
    if found is None or created.status != "True":
        return _without(CERTIFICATE, created)
    certificate = found.certificate
    if not certificate.authority and not certificate.id:
        return CERTIFICATE.true("NgrokManaged", "The edge issues the certificate itself")
    if certificate.error_code or certificate.error:
        return CERTIFICATE.false("ProvisioningError", _error(certificate))
    if not certificate.id:
        return CERTIFICATE.unknown("Provisioning", f"The edge is getting a certificate from {certificate.authority}")
    return CERTIFICATE.true("CertificateReady", "The edge has a certificate")


def dns_of(created: Condition, found: model.Domain | None) -> Condition:
    if found is None or created.status != "True":
        return _without(DNS, created)
    certificate = found.certificate
    if not found.cname_target:
        return DNS.true("NgrokManaged", "The name is below the edge's own domain")
    if certificate.error_code or certificate.error:
        return DNS.false("ProvisioningError", _error(certificate))
    if certificate.authority and certificate.id:
        return DNS.true("DNSConfigured", "The edge got a certificate for the name")
    return DNS.unknown("NotChecked", f"Point a CNAME record of {found.domain} to {found.cname_target}")


def _without(condition: object, created: Condition) -> Condition:
    kind = CERTIFICATE if condition is CERTIFICATE else DNS
    if created.status == "False":
        return kind.unknown("DomainNotCreated", "There is no domain at the edge")
    if created.reason == CREATED.lasting:
        return kind.unverified(NOT_CONFIRMED)
    return kind.not_yet("Pending", "The edge has not answered yet")


def _error(certificate: model.Certificate) -> str:
    retries = f" (tried again at {certificate.retries_at})" if certificate.retries_at else ""
    return f"{certificate.error_code} {certificate.error}".strip() + retries


def shown(found: model.Domain, conditions: tuple[Condition, ...]) -> DomainStatus:
    certificate = found.certificate
    policy = ManagementPolicy(authority=certificate.authority, private_key_type=certificate.key_type)
    job = ProvisioningJob(
        error_code=certificate.error_code,
        message=certificate.error,
        started_at=certificate.started_at or None,
        retries_at=certificate.retries_at or None,
    )
    status = ManagementStatus(
        renews_at=certificate.renews_at or None, provisioning_job=None if job == ProvisioningJob() else job
    )
    return DomainStatus(
        conditions=conditions,
        id=found.id,
        domain=found.domain,
        resolves_to=tuple(ResolvesTo(value=value) for value in found.resolves_to) or None,
        cname_target=found.cname_target or None,
        acme_challenge_cname_target=found.acme_challenge or None,
        certificate=CertificateRef(id=certificate.id) if certificate.id else None,
        certificate_management_policy=None if policy == ManagementPolicy() else policy,
        certificate_management_status=None if status == ManagementStatus() else status,
    )


def invalid(seen: Seen) -> str:
    host = host_of(seen.domain)
    if host.endswith(".internal"):
        return f"{host} is internal to the edge: such names are not reserved"
    return "" if "." in host else f"{host} is no domain name"


def taken(seen: Seen) -> str:
    """The holder's name is shown only within its namespace."""
    holder, domain = seen.holder, seen.domain
    if holder is None:
        return f"{host_of(domain)} is kept for another namespace, which had it until lately"
    near = holder.metadata.namespace == domain.metadata.namespace
    return f"{host_of(domain)} is held by " + (f"Domain {holder.metadata.name}" if near else "another namespace")


def reserve(seen: Seen) -> Call[model.Domain]:
    spec = seen.domain.spec
    wanted = model.DomainSpec(
        tuple(entry.value for entry in spec.resolves_to or ()),
        spec.description,
        for_edge(spec.metadata),
        spec.reclaim_policy,
    )
    owner = owner_of(seen.domain, seen.options.cluster, seen.cluster_uid)
    return Call(
        target=f"domain/{seen.domain.uid}",
        action=Reserve(owner, host_of(seen.domain), wanted),
        every=seen.options.timing.verify,
        shelf_life=seen.options.timing.shelf_life,
    )


def give_up(seen: Seen) -> Call[None]:
    retain = seen.domain.spec.reclaim_policy == "Retain"
    return Call(target=f"domain/{seen.domain.uid}", action=GiveUp(owner_of(seen.domain, seen.options.cluster), retain))


def given_up(seen: Seen) -> bool:
    return isinstance(seen.results.to(give_up(seen)), Fresh)
