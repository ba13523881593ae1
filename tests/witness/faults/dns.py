"""Faults of names: the server frozen, killed, unreachable; records changed by hand; a delegation above them."""

from __future__ import annotations

import signal
from collections.abc import Callable

from tests.witness import manifests
from tests.witness.api import Key
from tests.witness.faults.fault import Break, Fault, linked
from tests.witness.relay import Mode
from tests.witness.sandbox import NAME_SERVER, run
from tests.witness.world import World

FAMILY = "dns"


def key_of(name: str) -> Key:
    return ("DNSEndpoint", "names", name)


def faults(world: World) -> list[Fault]:
    everyone = tuple(key_of(name) for name in manifests.RECORDS)
    server = world.programs["named"]
    silent, refuse, lossy, whole = (
        linked(world, "names", mode) for mode in (Mode.SILENT, Mode.REFUSE, Mode.LOSSY, Mode.PASS)
    )

    def touches(key: Key) -> bool:
        return key[0] == "DNSEndpoint"

    def restart() -> None:
        server.kill()
        server.start()

    return [
        Fault(
            "frozen name server",
            FAMILY,
            Break.SILENT,
            everyone,
            lambda: server.signal(signal.SIGSTOP),
            lambda: server.signal(signal.SIGCONT),
            touches,
        ),
        Fault("killed name server", FAMILY, Break.SILENT, everyone, server.kill, server.start, touches),
        Fault("restarted name server", FAMILY, Break.NONE, (), restart, touches=touches),
        *(
            Fault(f"{name} to the name server", FAMILY, Break.NONE, (), act, whole, touches, 20.0, outage=True)
            for name, act in (("partition", silent), ("refusal", refuse), ("loss", lossy))
        ),
        by_hand("record deleted by hand", "d1", "delete d1.witness.test A", world),
        by_hand("record changed by hand", "d2", "add d2.witness.test 60 A 192.0.2.99", world),
        above(world, "delegation above a name", "NS ns.elsewhere.test"),
        above(world, "DNAME above a name", "DNAME elsewhere.test"),
    ]


def by_hand(name: str, record: str, line: str, world: World) -> Fault:
    """The product mends it by itself, once it sees the zone's new serial."""
    return Fault(name, FAMILY, Break.SILENT, (key_of(record),), update(world, line))


def above(world: World, name: str, record: str) -> Fault:
    """The server holds the record, and answers with a referral or an alias."""
    inject = update(world, f"add sub.witness.test 60 {record}")
    repair = update(world, f"delete sub.witness.test {record.partition(' ')[0]}")
    return Fault(name, FAMILY, Break.SILENT, (key_of("d5"),), inject, repair)


def update(world: World, line: str) -> Callable[[], object]:
    key = f"hmac-sha256:witness:{manifests.SECRET}"
    text = f"server {NAME_SERVER}\nzone witness.test\nupdate {line}\nsend\n"
    return lambda: run(*world.sandbox.outside, "nsupdate", "-y", key, given=text)
