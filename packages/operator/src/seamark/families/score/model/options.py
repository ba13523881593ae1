"""What the family can find out from where it runs, and where the platform's configuration is."""

from __future__ import annotations

from dataclasses import dataclass, field

from seamark.families.score.platform.configuration import KEY
from seamark_runtime.api.meta import Key


@dataclass(frozen=True)
class Pace:
    """Seconds between two attempts of a kind. A result is valid three times as long, that of a lookup four times."""

    probe: float = 10.0
    lookup: float = 30.0


@dataclass(frozen=True)
class Options:
    """
    - `probes`: whether names are looked up, and endpoints are tried, at all.
    - `inside`: cluster-local endpoints can be tried, too. `pace`: how often.
    - `gateway_namespaces`: whose Services may be in front of Gateways, beside a Gateway's own namespace.
    - `config_key`: the ConfigMap that is the platform's configuration.
    """

    probes: bool = True
    inside: bool = False
    pace: Pace = field(default_factory=Pace)
    gateway_namespaces: tuple[str, ...] = ("seamark-system",)
    config_key: Key = KEY
