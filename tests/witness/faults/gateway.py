"""Faults of gateways: backends, Envoys, grants, Secrets and certificates."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

from tests.witness import manifests
from tests.witness.api import Json, Key
from tests.witness.certificates import Authority, secret
from tests.witness.faults.fault import Backend, Break, Fault, backend_faults, to_pids
from tests.witness.programs import processes
from tests.witness.world import World

FAMILY = "gateway"


def faults(world: World, authority: Authority) -> list[Fault]:
    found: list[Fault] = []
    for name in ("r1", "r2", "o2"):
        targets = (("HTTPRoute", "gw", name),)
        found += backend_faults(world, Backend(FAMILY, "gw", name, name, targets))
    return [*found, *envoys(world), *secrets(world, authority), grant(world)]


def envoys(world: World) -> list[Fault]:
    found = []
    for gateway in ("other", "secure"):
        targets: tuple[Key, ...] = (("Gateway", "gw", gateway),)
        if gateway == "other":
            targets += (("ListenerSet", "gw", manifests.SET),)
        touches = routes(gateway)
        stop, go, kill = (
            to_pids(lambda gateway=gateway: envoy(world, gateway), number)  # type: ignore[misc]
            for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL)
        )
        found += [
            Fault(f"frozen Envoy gw/{gateway}", FAMILY, Break.SILENT, targets, stop, go, touches),
            Fault(f"killed Envoy gw/{gateway}", FAMILY, Break.SIGNALLED, targets, kill, touches=touches),
        ]
    return found


def routes(gateway: str) -> Callable[[Key], bool]:
    """Of a gateway, with the policy of one of them."""
    names = {("HTTPRoute", name) for name in manifests.ROUTES[gateway]}
    names |= {("TrafficPolicy", "header")} if gateway == "other" else set()
    return lambda key: (key[0], key[2]) in names


def envoy(world: World, gateway: str) -> list[int]:
    """The Envoy that listens at the gateway's address, whoever has started it."""
    obj = world.api.get(("Gateway", "gw", gateway)) or {}
    addresses = (obj.get("status") or {}).get("addresses") or [{}]
    sockets = listening(addresses[0].get("value", ""))
    found = processes(lambda arguments: "envoy" in Path(arguments[0]).name)
    return [pid for pid in found if sockets & opened(pid)]


def listening(address: str) -> set[str]:
    """Sockets that listen at an IPv4 address, as the kernel numbers them."""
    if not address:
        return set()
    wanted = "".join(f"{int(part):02X}" for part in reversed(address.split(".")))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {f"socket:[{row[9]}]" for row in rows if row[3] == "0A" and row[1].startswith(wanted)}


def opened(pid: int) -> set[str]:
    try:
        return {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return set()


def secrets(world: World, authority: Authority) -> list[Fault]:
    targets: tuple[Key, ...] = (("Gateway", "gw", "secure"),)
    touches = routes("secure")
    key = ("Secret", "gw", "certificate")
    names = ("s1.example.com",)
    good: Json = secret("gw", "certificate", authority.issue(names))
    old: Json = secret("gw", "certificate", authority.issue(names, expired=True))

    def give(which: Json) -> Json:
        return world.api.apply(which)

    deleted = Fault(
        "deleted Secret gw/certificate",
        FAMILY,
        Break.SILENT,
        targets,
        lambda: world.api.delete(key),
        lambda: give(good),
        touches,
    )
    expired = Fault(
        "expired certificate gw/certificate",
        FAMILY,
        Break.SILENT,
        targets,
        lambda: give(old),
        lambda: give(good),
        touches,
    )
    return [deleted, expired]


def grant(world: World) -> Fault:
    key = ("ReferenceGrant", "gw-far", "routes")
    targets = (("HTTPRoute", "gw", "r3"),)
    inject, repair = lambda: world.api.delete(key), lambda: world.api.apply(manifests.grant())
    return Fault("revoked ReferenceGrant gw-far/routes", FAMILY, Break.SIGNALLED, targets, inject, repair)
