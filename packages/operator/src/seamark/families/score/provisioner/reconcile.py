"""ResourceClaim → its outputs. Values are in a ConfigMap; a Secret is only named, never read out or copied."""

from __future__ import annotations

from seamark.api.score import ClaimOutputs, NamedRef, ResourceClaimStatus
from seamark.families.score.model.identity import SHARED
from seamark.families.score.provisioner.state import OUTPUTS, Seen, outputs_key
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.conditions import LONGEST_MESSAGE
from seamark_runtime.controller import Wanted
from seamark_runtime.follow import Unreadable
from seamark_runtime.redaction import redact
from seamark_runtime.source import Absent, NotYet

UNSHARED = "It was made before it had an id and stays its Workload's own; delete the claim to share it from then on"
ORPHANED = "No Workload has this resource any more; its policy Orphan keeps the claim and what it gave"


def desire(seen: Seen) -> Wanted:
    """Outputs that were given stay while something that they need is not there."""
    lacking = bool(seen.given.missing or seen.given.waiting)
    values = (seen.before.data if lacking and seen.before is not None else seen.given.values) or {}
    if not values:
        return Wanted()
    namespace, name = outputs_key(seen.claim)
    labels = {SHARED: seen.shared.digest} if seen.shared is not None else None
    outputs = ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels), data=dict(values))
    return Wanted(children={OUTPUTS: outputs})


def judge(seen: Seen, answers: Answers) -> ResourceClaimStatus:
    given = seen.given
    if given.missing:
        return failed(given.missing)
    if given.waiting:
        return waiting(given.waiting)
    if refusal := answers.refusal(OUTPUTS):
        return failed(refusal.message)
    if given.secret and (not_there := without_secret(seen)) is not None:
        return not_there
    ref = answers.ref(OUTPUTS)
    outputs = ClaimOutputs(
        secret_ref=NamedRef(name=given.secret) if given.secret else None,
        config_map_ref=NamedRef(name=ref.name) if ref else None,
        uri=given.uri or None,
    )
    if outputs == ClaimOutputs():
        return failed(f"The provisioner of {seen.claim.spec.type} gives nothing")
    message = ORPHANED if seen.orphaned else UNSHARED if seen.claim.spec.id and seen.shared is None else ""
    return ResourceClaimStatus(
        phase="Bound", reason="Succeeded", message=message, outputs_available=True, outputs=outputs
    )


def without_secret(seen: Seen) -> ResourceClaimStatus | None:
    """What there is to say while its Secret can't be referred to; None when it can."""
    match seen.secret:
        case NotYet():
            return ResourceClaimStatus()
        case Unreadable(message):
            return failed(message)
        case Absent():
            keys = seen.provisioner.secret_keys if seen.provisioner is not None else ()
            needed = f"; it has to have {', '.join(keys)}" if keys else ""
            return waiting(f"The Secret {seen.given.secret} is not there (yet){needed}")
        case _:
            return None


def waiting(message: str) -> ResourceClaimStatus:
    return ResourceClaimStatus(phase="Claiming", reason="Claiming", message=redact(message, LONGEST_MESSAGE))


def failed(message: str) -> ResourceClaimStatus:
    return ResourceClaimStatus(phase="Failed", reason="ClaimFailed", message=redact(message, LONGEST_MESSAGE))
