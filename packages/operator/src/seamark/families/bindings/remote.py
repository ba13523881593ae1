"""What the family asks of others: requests to the edge, and connections that verify a binding.

Performed beside the workers; results are facts.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable

from seamark.families.bindings.boundendpoint.state import Probe, Verified
from seamark.families.bindings.kubernetesoperator.state import (
    Certify,
    Left,
    ListBound,
    Register,
    Registration,
    Signed,
    Unregister,
)
from seamark.families.bindings.model.certificates import Certificates
from seamark.families.bindings.model.dependencies import EdgeFacts
from seamark.families.bindings.model.entries import Listing
from seamark.families.bindings.model.verifications import Verifications
from seamark.providers.edge.protocol import EdgeProvider
from seamark_edge.model import Operator, OperatorSpec, Owner
from seamark_runtime.api.meta import Key
from seamark_runtime.clock import Clock, timestamp
from seamark_runtime.errors import Gone, Retry, SeamarkError
from seamark_runtime.source import Fresh

UNREGISTER_LIMIT = 60.0  # seconds for which an edge that does not answer delays an uninstall
CLOSES_WITHIN = 0.25  # seconds in which a forwarder that can't reach the endpoint closes the connection

EdgeAction = Register | Certify | ListBound | Unregister
Dial = Callable[[str, int], Awaitable[None]]


class Remote:
    """Performs the calls of the family."""

    def __init__(self, edge: EdgeRequests, prober: Prober) -> None:
        self._edge = edge
        self._prober = prober

    async def perform(self, action: EdgeAction | Probe) -> Registration | Signed | Left | Verified | None:
        if isinstance(action, Probe):
            return await self._prober.perform(action)
        return await self._edge.perform(action)


class EdgeRequests:
    """Registers, certifies, lists and unregisters an installation; what it finds goes to `facts`."""

    def __init__(self, provider: EdgeProvider, certificates: Certificates, facts: EdgeFacts) -> None:
        self._provider = provider
        self._certificates = certificates
        self._facts = facts
        self._leaving: dict[Owner, float] = {}  # since when the edge does not unregister an installation

    async def perform(self, action: EdgeAction) -> Registration | Signed | Left | None:
        match action:
            case Register(owner=owner, spec=spec, attempt=attempt):
                if attempt:
                    await self._provider.unregister(owner)  # the registration that we know is gone
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
            return await self._provider.register(owner, spec)
        except Gone:  # it was deleted there, and the provider has dropped it now
            return await self._provider.register(owner, spec)

    async def _list(self, action: ListBound) -> None:
        try:
            found = await self._provider.bound_endpoints(action.operator)
        except Gone as error:
            self._facts.attempts.put(action.installation, self._attempt(action.installation) + 1)
            raise Retry(f"the edge does not know {action.operator} any more") from error
        self._facts.listings.put(action.installation, Listing(tuple(sorted(found, key=lambda bound: bound.id))))

    def _attempt(self, installation: Key) -> int:
        fact = self._facts.attempts.get(installation, 0.0)
        return fact.value if isinstance(fact, Fresh) else 0

    async def _unregister(self, owner: Owner) -> Left | None:
        try:
            await self._provider.unregister(owner)
        except SeamarkError as error:
            since = self._leaving.setdefault(owner, _loop_time())
            if _loop_time() - since < UNREGISTER_LIMIT:
                raise
            return Left(error.message)
        self._leaving.pop(owner, None)
        return None


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


class Prober:
    """Performs probes.

    - A probe connects to the address in it, which the API server gave to our own Service, and to nothing else.
    - A failure says how it failed, and when a probe last connected.
    """

    def __init__(
        self, clock: Clock, limit: float, verifications: Verifications | None = None, dial: Dial | None = None
    ) -> None:
        self._clock = clock
        self._limit = limit
        self._verifications = verifications or Verifications()
        self._dial = dial or connect
        allow_many_connections()

    async def perform(self, action: Probe) -> Verified:
        try:
            async with asyncio.timeout(self._limit):
                await self._dial(action.address, action.port)
        except TimeoutError:
            raise Retry(self._failed(action, f"no answer within {self._limit:g} s")) from None
        except OSError as error:
            raise Retry(self._failed(action, (error.strerror or str(error) or "no connection").lower())) from None
        now = self._clock.wall()
        self._verifications.record(action.key, now)
        return Verified(timestamp(now))

    def _failed(self, action: Probe, error: str) -> str:
        last = self._verifications.last(action.key)
        message = f"dial tcp {action.address}:{action.port}: {error}"
        return f"{message} (last connected at {last})" if last else message


class ConnectionClosed(ConnectionError):
    """The forwarder accepted the connection and closed it: there is no response behind it."""

    strerror = "the forwarder closed the connection: the endpoint can't be reached at the edge"


async def connect(address: str, port: int) -> None:
    """A connection that is accepted, and not closed at once by the forwarder, is the evidence."""
    reader, writer = await asyncio.open_connection(address, port)
    try:
        async with asyncio.timeout(CLOSES_WITHIN):
            if await reader.read(1) == b"":
                raise ConnectionClosed
    except TimeoutError:
        pass  # it stays open: the server waits for the client to send first
    finally:
        writer.transport.abort()


def allow_many_connections() -> None:
    """A thousand waiting probes must not use up the file descriptors of the next one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
