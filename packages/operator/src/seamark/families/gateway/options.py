"""How the gateway family runs."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.families.gateway.fronts import Front
from seamark.families.gateway.infrastructure import Cluster
from seamark.families.gateway.state import CLASS_NAME, CONTROLLER_NAME


@dataclass(frozen=True)
class Options:
    """Whose gateways are ours, and where they are reached."""

    controller_name: str = CONTROLLER_NAME
    class_name: str = CLASS_NAME
    addresses: tuple[str, ...] = ("127.0.80.0/24",)  # ranges that are local here: each gateway gets one of them
    counting: float = 5.0  # least seconds between two counts of a gateway's routes
    translating: float = 0.25  # least seconds between two translations of a gateway
    verify: float = 30.0  # seconds between two looks at whether a gateway is still served
    answer_within: float = 10.0  # seconds that the data plane may take
    features: tuple[str, ...] = ()
    cluster: Cluster | None = None  # how Envoys run as Pods; None: they do not
    front: Front | None = None  # what is before an Envoy of this machine; None: nothing
