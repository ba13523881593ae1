"""Whether ready Pods of a Workload answer, or accept connections, at the ports that it offers. Pure.

- Each Pod is tried at its own address: a Service's address may be that of a proxy, which accepts without a listener.
- Accepted is what a Pod has answered within the shelf life. Refused is an answer, too, and so is another protocol. No
  answer is Unknown. Of a port that is not HTTP an accepted connection is all that is claimed, in the message as well.
- Where Pods can't be reached from here nothing is sent: their addresses may be those of other machines there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seamark.api.score import Exposure
from seamark.families.score.model.planvalues import Unfit
from seamark.families.score.workloadexposure.places import scheme_of
from seamark.families.score.workloadexposure.state import REACHABLE, Dial, OtherProtocol, Port, PortRefused, Seen
from seamark_runtime.api.core import Pod
from seamark_runtime.api.meta import Condition
from seamark_runtime.callrates import Rate
from seamark_runtime.calls import Call, Failed
from seamark_runtime.conditions import TRUE
from seamark_runtime.source import Fresh, NotYet, Stale

MOST = 16  # Pods that are tried, the first by name
TIMEOUT = 5.0
ANSWERING = ("HTTP", "HTTPS")  # what accepts connections only may be a load balancer without a Pod behind it
CONNECTIONS = Rate("connections to Pods of exposures", 60.0)


def offered(seen: Seen) -> tuple[Port, ...]:
    """The TCP ports of the Service, as its Pods have them."""
    ports = (seen.service.spec.ports if seen.service and seen.service.spec else None) or ()
    targets = {
        Port(port.target_port if isinstance(port.target_port, int) else port.port, _scheme(port.name, port.port))
        for port in ports
        if port.protocol == "TCP"
    }
    return tuple(sorted(targets))


def _scheme(name: str, number: int) -> str:
    found = scheme_of(name, number, "TCP")
    return found if found in ("http", "https") else "tcp"


def dials(seen: Seen) -> Iterator[Call[bool]]:
    """One for each Pod that can be connected to from here."""
    ports = offered(seen)
    if not ports or not seen.probes:
        return
    every = seen.pace.probe
    for pod in _ready(seen)[:MOST]:
        if seen.dialable(pod.status.pod_ip):
            target = f"{seen.exposure.key}/connect {pod.metadata.name}"
            action = Dial(pod.uid, pod.status.pod_ip, ports)
            life = 3 * every
            yield Call(target, action, every, shelf_life=life, timeout=TIMEOUT, slowest=every, rate=CONNECTIONS)


def _ready(seen: Seen) -> list[Pod]:
    """The Pods that the Service leads to."""
    ready = [pod for pod in seen.pods if not pod.deleting and pod.status.pod_ip and _is_ready(pod)]
    return sorted(ready, key=lambda pod: pod.metadata.name)


def _is_ready(pod: Pod) -> bool:
    condition = pod.condition("Ready")
    return condition is not None and condition.status == TRUE


def reachable(seen: Seen, exposures: tuple[Exposure, ...]) -> Condition:
    """By the Pods' answers; where they can't be asked, by that of the endpoint that clients use."""
    if not isinstance(seen.values, Unfit) and not seen.values.ports:
        return REACHABLE.true("NoPorts", "It offers no port")
    answers = [seen.results.to(call) for call in dials(seen)]
    failed = [answer for answer in answers if isinstance(answer, Failed)]
    for reason, error in (("Refused", PortRefused), ("WrongProtocol", OtherProtocol)):
        if messages := sorted({failure.message for failure in failed if isinstance(failure.error, error)}):
            return REACHABLE.false(reason, "; ".join(messages))
    if exposures and exposures[0].reachable and exposures[0].scheme_hint in ANSWERING:
        return REACHABLE.true("Answered", f"{exposures[0].url} answers")
    if failed:
        return REACHABLE.unknown("NoAnswer", failed[0].message)
    return _unrefused(seen, answers) if answers else _untried(seen)


def _unrefused(seen: Seen, answers: Sequence[NotYet | Fresh[bool] | Stale[bool] | Failed]) -> Condition:
    if any(isinstance(answer, Fresh) for answer in answers):
        return REACHABLE.true("Accepted", f"Pods {_verified(offered(seen))}")
    if any(isinstance(answer, Stale) for answer in answers):
        return REACHABLE.unknown("Expired", "The last connection is too long ago")
    return REACHABLE.not_yet("Pending", "No connection was tried yet")


def _verified(ports: Sequence[Port]) -> str:
    """Exactly what is known of each port: a connection alone proves no answer."""
    answering = ", ".join(str(port.number) for port in ports if port.scheme != "tcp")
    accepting = ", ".join(str(port.number) for port in ports if port.scheme == "tcp")
    parts = (
        f"answer at port {answering}" if answering else "",
        f"accept connections at port {accepting}" if accepting else "",
    )
    return " and ".join(filter(None, parts))


def _untried(seen: Seen) -> Condition:
    """Why nothing was tried."""
    if not seen.probes:
        return REACHABLE.unknown("NotTried", "This operator tries no connections")
    if not _ready(seen):
        return REACHABLE.unknown("NoPod", "No Pod with an address is ready")
    if not offered(seen):
        return REACHABLE.unknown("NotVerifiable", "A UDP port gives no sign of a listener")
    message = "The operator runs outside of the Pod network and can't connect to Pods"
    return REACHABLE.unknown("OutsidePodNetwork", message)
