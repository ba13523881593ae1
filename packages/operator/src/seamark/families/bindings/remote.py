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
from seamark.families.bindings.sweep.state import ListRegistrations
from seamark.providers.edge.protocol import EdgeProvider
from seamark_edge.model import Operator, OperatorSpec, Owner
from seamark_edge.wire.bindings import (
    ACCEPTED,
    FORWARDER_ERROR,
    NOT_ACCEPTED,
    PROBE,
    PROBED,
    ConnResponse,
    PreambleError,
)
from seamark_runtime.api.meta import Key
from seamark_runtime.clock import Clock, timestamp
from seamark_runtime.errors import Gone, Retry, SeamarkError
from seamark_runtime.source import Fresh

MOST_SHOWN = 500  # characters of an edge's error in a message
UNREGISTER_LIMIT = 60.0  # seconds for which an edge that does not answer delays an uninstall

EdgeAction = Register | Certify | ListBound | Unregister | ListRegistrations
Dial = Callable[[str, int], Awaitable[None]]


class Remote:
    """Performs the calls of the family."""

    def __init__(self, edge: EdgeRequests, prober: Prober) -> None:
        self._edge = edge
        self._prober = prober

    async def perform(
        self, action: EdgeAction | Probe
    ) -> Registration | Signed | Left | Verified | tuple[Owner, ...] | None:
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

    async def perform(self, action: EdgeAction) -> Registration | Signed | Left | tuple[Owner, ...] | None:
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
            case ListRegistrations(cluster):
                return tuple(sorted(await self._provider.registrations(cluster)))

    async def _register(self, owner: Owner, spec: OperatorSpec) -> Operator:
        try:
            return await self._provider.register(owner, spec)
        except Gone:  # it was deleted there, and the provider has dropped it now
            return await self._provider.register(owner, spec)

    async def _list(self, action: ListBound) -> None:
        requested = _loop_time()
        try:
            found = await self._provider.bound_endpoints(action.operator)
        except Gone as error:
            self._facts.attempts.put(action.installation, self._attempt(action.installation) + 1)
            raise Retry(f"the edge does not know {action.operator} any more") from error
        self._facts.listings.put(
            action.installation, Listing(tuple(sorted(found, key=lambda bound: bound.id)), requested)
        )

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
        confirmed = True
        try:
            async with asyncio.timeout(self._limit):
                await self._dial(action.address, action.port)
        except NotConfirmed:
            confirmed = False
        except TimeoutError:
            raise Retry(self._failed(action, f"no answer within {self._limit:g} s")) from None
        except OSError as error:
            reason = error.strerror.lower() if error.strerror else str(error)[:MOST_SHOWN] or "no connection"
            raise Retry(self._failed(action, reason)) from None
        now = self._clock.wall()
        if confirmed:
            self._verifications.record(action.key, now)
        return Verified(timestamp(now), confirmed)

    def _failed(self, action: Probe, error: str) -> str:
        last = self._verifications.last(action.key)
        message = f"dial tcp {action.address}:{action.port}: {error}"
        return f"{message} (last connected at {last})" if last else message


class ProbeFailed(ConnectionError):
    """The exchange was not completed, or the far upstream did not accept, with the reason."""


class NotConfirmed(Exception):
    """The edge knows the endpoint and took the connection, and does not report on the far upstream."""


async def connect(address: str, port: int) -> None:
    """A probe: an exchange with the edge's binding ingress through the Service and a forwarder.

    Success is the edge's response that the far upstream has accepted. What is no response to a probe is a failure.
    """
    reader, writer = await asyncio.open_connection(address, port)
    try:
        writer.write(PROBE)
        answer = await _answer(reader)
    finally:
        writer.transport.abort()
    if answer.error_code == FORWARDER_ERROR:
        raise ProbeFailed(f"the forwarder did not reach the edge: {answer.error_message}")
    if answer.error_code:
        raise ProbeFailed(f"the edge refused: {answer.error_message}")
    if answer.upstream == NOT_ACCEPTED:
        raise ProbeFailed(f"the far upstream did not accept: {answer.detail}")
    if answer.upstream != ACCEPTED:
        raise NotConfirmed


async def _answer(reader: asyncio.StreamReader) -> ConnResponse:
    try:
        if await reader.readexactly(len(PROBED)) != PROBED:
            raise ProbeFailed("what listens there is no forwarder of this version: the response is none to a probe")
        length = int.from_bytes(await reader.readexactly(2), "little")
        return ConnResponse.decode(await reader.readexactly(length))
    except asyncio.IncompleteReadError:
        raise ProbeFailed("the forwarder closed the connection without a response") from None
    except PreambleError as error:
        raise ProbeFailed(f"the forwarder's response is none: {error}") from None


def allow_many_connections() -> None:
    """A thousand waiting probes must not use up the file descriptors of the next one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
