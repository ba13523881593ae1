"""Moving over from ExternalDNS and back, on a real BIND: its ownership records are ours, in every form that it writes.

What is put there by hand is spelt out as ExternalDNS spells it, and not made by the code under test.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import os
from dataclasses import dataclass

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from seamark.families.dns.model.rules import Rules
from seamark.providers.dns.rfc2136 import Rfc2136Provider
from seamark.providers.dns.txt import Names, Values
from tests.dns.running import cluster, endpoint, operating, until
from tests.dns.servers import ZONE, ZONES, Bind

KEY = b"passphrasewhichneedstobe32bytes!"
PLAIN = "heritage=external-dns,external-dns/owner=theirs,external-dns/resource=crd/default/www"
PLAIN_NAMES, PLAIN_VALUES = Names(), Values()
WWW, STAR = f"www.{ZONE}", f"*.{ZONE}"


def sealed(text: str) -> str:
    """As ExternalDNS encrypts: gzip, AES-256-GCM under a nonce of chance, base64 of both."""
    nonce = os.urandom(12)
    return base64.b64encode(nonce + AESGCM(KEY).encrypt(nonce, gzip.compress(text.encode()), None)).decode()


@dataclass(frozen=True)
class Form:
    """One way in which ExternalDNS names and writes the ownership of `name`."""

    owner_name: str
    names: Names = PLAIN_NAMES
    values: Values = PLAIN_VALUES
    name: str = WWW
    older: bool = False

    def value(self) -> str:
        return sealed(PLAIN) if self.values.key else PLAIN


FORMS = {
    "plain": Form(f"a-www.{ZONE}"),
    "prefix": Form(f"own-a-www.{ZONE}", Names(prefix="own-")),
    "prefix with a dot": Form(f"txt.a-www.{ZONE}", Names(prefix="txt.")),
    "suffix": Form(f"a-www-own.{ZONE}", Names(suffix="-own")),
    "template in the prefix": Form(f"own-a.www.{ZONE}", Names(prefix="own-%{record_type}.")),
    "template in the suffix": Form(f"www-a-own.{ZONE}", Names(suffix="-%{record_type}-own")),
    "wildcard": Form(f"a-any.{ZONE}", Names(wildcard="any"), name=STAR),
    "encrypted": Form(f"own-a-www.{ZONE}", Names(prefix="own-"), Values(KEY)),
    "older": Form(f"own-www.{ZONE}", Names(prefix="own-"), older=True),
}


def rules(form: Form, owner: str = "theirs", **more: object) -> Rules:
    given = {"zones": ZONES, "owner": owner, "names": form.names, "values": form.values, **more}
    return Rules(**given)  # type: ignore[arg-type]  # as given


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_what_external_dns_made_is_ours_to_keep_to_change_and_to_remove(bind: Bind, form: Form) -> None:
    """Rule 16."""

    def made_by_external_dns(update: object) -> None:
        update.add(f"{form.name}.", 300, "A", "192.0.2.1")  # type: ignore[attr-defined]  # an UpdateMessage
        update.add(f"{form.owner_name}.", 300, "TXT", f'"{form.value()}"')  # type: ignore[attr-defined]  # too

    async def story() -> None:
        bind.by_hand(made_by_external_dns)
        world = cluster()
        world.apply("www", endpoint(form.name, "A", "192.0.2.1"))
        provider = Rfc2136Provider(bind.server(), ZONES)
        async with operating(world, provider, rules(form)):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            assert provider.updates == 0  # it is taken over as it is
            world.apply("www", endpoint(form.name, "A", "192.0.2.2"))
            await until(lambda: bind.dig(form.name, "A") == ["192.0.2.2"], "it is ours to change")
            world.delete("www")
            await until(lambda: world.get("www") is None, lambda: world.says("www"))
        assert set((await provider.read(ZONE)).names) == {ZONE}

    asyncio.run(story())


def decoded(value: str) -> str:
    """As ExternalDNS reads it."""
    text = value.strip('"')
    if text.startswith("heritage"):
        return text
    raw = base64.b64decode(text)
    return gzip.decompress(AESGCM(KEY).decrypt(raw[:12], raw[12:], None)).decode()


@pytest.mark.parametrize(
    "form", [form for form in FORMS.values() if not form.older], ids=[name for name in FORMS if name != "older"]
)
def test_what_we_made_is_where_and_as_external_dns_looks_for_it(bind: Bind, form: Form) -> None:
    async def story() -> None:
        world = cluster()
        world.apply("www", endpoint(form.name, "A", "192.0.2.1"))
        async with operating(world, Rfc2136Provider(bind.server(), ZONES), rules(form)):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
        (value,) = bind.dig(form.owner_name, "TXT")
        assert decoded(value) == PLAIN

    asyncio.run(story())


def test_a_former_owners_records_become_ours_and_a_strangers_do_not(bind: Bind) -> None:
    """Rule 16: owner migration."""
    form = FORMS["plain"]
    stranger = PLAIN.replace("owner=theirs", "owner=stranger")

    def theirs(update: object) -> None:
        for name, value in (("www", PLAIN), ("far", stranger)):
            update.add(f"{name}.{ZONE}.", 300, "A", "192.0.2.1")  # type: ignore[attr-defined]  # an UpdateMessage
            update.add(f"a-{name}.{ZONE}.", 300, "TXT", f'"{value}"')  # type: ignore[attr-defined]  # too

    async def story() -> None:
        bind.by_hand(theirs)
        world = cluster()
        for name in ("www", "far"):
            world.apply(name, endpoint(f"{name}.{ZONE}", "A", "192.0.2.1"))
        under = rules(form, owner="new", formerly=("theirs",))
        async with operating(world, Rfc2136Provider(bind.server(), ZONES), under):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            await until(lambda: world.says("far", "Accepted")[1] == "NotOwned", lambda: world.says("far"))
        assert bind.dig(f"a-{WWW}", "TXT") == [f'"{PLAIN.replace("owner=theirs", "owner=new")}"']
        assert bind.dig(f"a-far.{ZONE}", "TXT") == [f'"{stranger}"']

    asyncio.run(story())


def test_without_a_registry_there_are_no_ownership_records_and_only_what_is_named_is_touched(bind: Bind) -> None:
    """Rule 17."""

    def by_hand(update: object) -> None:
        update.add(f"other.{ZONE}.", 300, "A", "192.0.2.9")  # type: ignore[attr-defined]  # an UpdateMessage

    async def story() -> None:
        bind.by_hand(by_hand)
        world = cluster()
        world.apply("www", endpoint(WWW, "A", "192.0.2.1"))
        world.apply("too", endpoint(WWW, "A", "192.0.2.1"))
        provider = Rfc2136Provider(bind.server(), ZONES)
        async with operating(world, provider, Rules(zones=ZONES, registry="noop")):
            await until(lambda: world.ready("www") and world.ready("too"), lambda: world.says("www"))
            assert set((await provider.read(ZONE)).names) == {ZONE, WWW, f"other.{ZONE}"}
            world.delete("www")
            await until(lambda: world.get("www") is None, lambda: world.says("www"))
            assert bind.dig(WWW, "A") == ["192.0.2.1"]  # the other object has it
            world.delete("too")
            await until(lambda: world.get("too") is None, lambda: world.says("too"))
        assert set((await provider.read(ZONE)).names) == {ZONE, f"other.{ZONE}"}

    asyncio.run(story())
