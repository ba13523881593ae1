"""What the family can find out from where it runs, and where the platform's configuration is."""

from __future__ import annotations

from dataclasses import dataclass, field

from seamark.families.score.platform.configuration import KEY
from seamark_runtime.api.meta import Key


@dataclass(frozen=True)
class Pace:
    """Seconds between two attempts of a kind. A result is valid three times as long, that of a lookup four times."""

    probe: float = 5.0
    lookup: float = 30.0


@dataclass(frozen=True)
class Options:
    """
    - `probes`: whether names are looked up, and endpoints are tried, at all.
    - `inside`: this is a Pod: Pods and cluster-local endpoints can be tried, too. `pod_network`: Pods can be, without
      the names of the cluster's DNS. `loopback`: so can Pods with loopback addresses. `pace`: how often.
    - `gateway_namespaces`: whose Services may be in front of Gateways, beside a Gateway's own namespace.
    - `domain`: below which resources of the type dns get host names; empty: they get names inside the cluster.
    - `config_key`: the ConfigMap that is the platform's configuration.
    """

    probes: bool = True
    inside: bool = False
    pod_network: bool = False
    loopback: bool = False
    pace: Pace = field(default_factory=Pace)
    gateway_namespaces: tuple[str, ...] = ("seamark-system",)
    domain: str = ""
    config_key: Key = KEY
