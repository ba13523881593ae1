"""What is asked of the edge for an installation: to register, to sign, to list, to forget it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from seamark.families.bindings.certificates import Certificates
from seamark.families.bindings.polling import Listing
from seamark.providers.edge.protocol import EdgeProvider
from seamark_edge.model import Operator, OperatorSpec, Owner
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import Gone, Retry, SeamarkError
from seamark_runtime.source import Facts, Fresh

PATIENCE = 60.0  # seconds for which an edge that does not answer holds up an uninstall


@dataclass(frozen=True)
class Register:
    """Be known to the edge, with these selectors. `attempt` counts how often the edge has forgotten us."""

    owner: Owner
    spec: OperatorSpec
    attempt: int = 0


@dataclass(frozen=True)
class Certify:
    """Have a new key signed, in place of the certificate that has this mark."""

    owner: Owner
    spec: OperatorSpec
    replaces: str
    attempt: int = 0


@dataclass(frozen=True)
class ListBound:
    installation: Key
    operator: str  # as the edge calls it


@dataclass(frozen=True)
class Unregister:
    owner: Owner


Action = Register | Certify | ListBound | Unregister


@dataclass(frozen=True)
class Registration:
    id: str
    uri: str
    ingress: str


@dataclass(frozen=True)
class Signed:
    """A certificate and its key. Its words are in no log."""

    certificate: str
    key: str

    def __repr__(self) -> str:
        return "Signed()"


@dataclass(frozen=True)
class Left:
    """The edge did not answer for so long that the registration is left there."""

    words: str


class EdgeWork:
    """Performs the actions above.

    - `listings`: what the edge last listed. It stays as it is while the edge can't be reached.
    - `attempts`: how often the edge no longer knew an installation; it is registered anew then.
    """

    def __init__(
        self, provider: EdgeProvider, certificates: Certificates, now: Callable[[], float] | None = None
    ) -> None:
        self.provider = provider
        self._certificates = certificates
        self._now = now or _loop_time
        self.listings: Facts[Key, Listing] = Facts("bound endpoints")
        self.attempts: Facts[Key, int] = Facts("registrations")
        self._leaving: dict[Owner, float] = {}  # since when an edge does not take us off its list

    async def perform(self, action: Action) -> Registration | Signed | Left | None:
        match action:
            case Register(owner=owner, spec=spec, attempt=attempt):
                if attempt:
                    await self.provider.unregister(owner)  # what we know of it is not so any more
                found = await self._register(owner, spec)
                return Registration(found.id, f"/kubernetes_operators/{found.id}", found.ingress_endpoint)
            case Certify(owner=owner, spec=spec):
                csr, key = self._certificates.request()
                signed = await self._register(owner, OperatorSpec(spec.selectors, csr, spec.features, spec.deployment))
                return Signed(signed.certificate, key)
            case ListBound():
                await self._list(action)
                return None
            case Unregister(owner=owner):
                return await self._unregister(owner)

    async def _register(self, owner: Owner, spec: OperatorSpec) -> Operator:
        try:
            return await self.provider.register(owner, spec)
        except Gone:  # it was deleted there; what was known of it is forgotten now
            return await self.provider.register(owner, spec)

    async def _list(self, action: ListBound) -> None:
        try:
            found = await self.provider.bound_endpoints(action.operator)
        except Gone as error:
            self.attempts.put(action.installation, self.attempt(action.installation) + 1)
            raise Retry(f"the edge does not know {action.operator} any more") from error
        self.listings.put(action.installation, Listing(tuple(sorted(found, key=lambda one: one.id))))

    def attempt(self, installation: Key) -> int:
        fact = self.attempts.get(installation, 0.0)
        return fact.value if isinstance(fact, Fresh) else 0

    async def _unregister(self, owner: Owner) -> Left | None:
        try:
            await self.provider.unregister(owner)
        except SeamarkError as error:
            since = self._leaving.setdefault(owner, self._now())
            if self._now() - since < PATIENCE:
                raise
            return Left(error.message)
        self._leaving.pop(owner, None)
        return None


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
