"""ResourceClaim → its outputs. Values are in a ConfigMap; a Secret is only named, never read out or copied."""

from __future__ import annotations

from seamark.api.score import ClaimOutputs, NamedRef, ResourceClaimStatus
from seamark.families.score.provisioner.state import OUTPUTS, Seen
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.conditions import LONGEST_MESSAGE
from seamark_runtime.controller import Wanted
from seamark_runtime.follow import Unreadable
from seamark_runtime.redaction import redact
from seamark_runtime.source import Absent, NotYet


def desire(seen: Seen) -> Wanted:
    if not seen.given.values:
        return Wanted()
    metadata = seen.claim.metadata
    name = f"{metadata.name}.outputs"
    outputs = ConfigMap(metadata=ObjectMeta(name=name, namespace=metadata.namespace), data=dict(seen.given.values))
    return Wanted(children={OUTPUTS: outputs})


def judge(seen: Seen, answers: Answers) -> ResourceClaimStatus:
    given = seen.given
    if given.missing:
        return failed(given.missing)
    if refusal := answers.refusal(OUTPUTS):
        return failed(refusal.message)
    if given.secret and (waiting := without_secret(seen)) is not None:
        return waiting
    ref = answers.ref(OUTPUTS)
    outputs = ClaimOutputs(
        secret_ref=NamedRef(name=given.secret) if given.secret else None,
        config_map_ref=NamedRef(name=ref.name) if ref else None,
        uri=given.uri or None,
    )
    if outputs == ClaimOutputs():
        return failed(f"The provisioner of {seen.claim.spec.type} gives nothing")
    return ResourceClaimStatus(phase="Bound", reason="Succeeded", outputs_available=True, outputs=outputs)


def without_secret(seen: Seen) -> ResourceClaimStatus | None:
    """What there is to say while its Secret can't be referred to; None when it can."""
    match seen.secret:
        case NotYet():
            return ResourceClaimStatus()
        case Unreadable(message):
            return failed(message)
        case Absent():
            message = f"The Secret {seen.given.secret} is not there (yet)"
            return ResourceClaimStatus(phase="Claiming", reason="Claiming", message=message)
        case _:
            return None


def failed(message: str) -> ResourceClaimStatus:
    return ResourceClaimStatus(phase="Failed", reason="ClaimFailed", message=redact(message, LONGEST_MESSAGE))
