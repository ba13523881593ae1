"""Performs the calls of the gateway family: to the data plane, and the signing of its certificates."""

from __future__ import annotations

from seamark.families.gateway.backends.state import Connect
from seamark.families.gateway.infrastructure.signing import Signer
from seamark.families.gateway.infrastructure.state import Certify, Credential
from seamark.families.gateway.model.results import RefusedObjects
from seamark.families.gateway.translation.isolation import Accepted, Attempt
from seamark.families.gateway.translation.state import Program, Programmed, Remove
from seamark_edge.dataplane.protocol import DataPlane
from seamark_runtime.api.meta import Key
from seamark_runtime.clock import Clock
from seamark_runtime.source import Facts


class Remote:
    """Contract: `perform` may be called for several gateways at once, and for an older and a newer version of one.

    `refused` are facts: the objects of each gateway that the data plane has refused, as of its last response.
    """

    def __init__(self, plane: DataPlane, clock: Clock) -> None:
        self.refused: Facts[Key, RefusedObjects] = Facts("refused objects")
        self._plane = plane
        self._signer = Signer(clock)
        self._accepted: dict[Key, Accepted] = {}  # what each gateway's data plane has accepted last

    async def perform(self, action: Program | Remove | Certify | Connect) -> Programmed | Credential | None:
        match action:
            case Program():
                return await self._program(action)
            case Remove(gateway):
                await self._remove(gateway)
                return None
            case Connect(host, port):
                await self._plane.connect(host, port)
                return None
            case Certify():
                return await self._signer.certify(action)

    async def _program(self, action: Program) -> Programmed:
        before = self._accepted.setdefault(action.gateway, Accepted())
        attempt = Attempt(self._plane, before, action)
        result = await attempt.run()
        if attempt.accepted is not before and action.gateway in self._accepted:  # it was not removed meanwhile
            self._accepted[action.gateway] = attempt.accepted
            self._publish(action.gateway, attempt.accepted.refused)
        return result

    def _publish(self, gateway: Key, refused: RefusedObjects) -> None:
        if refused.objects:
            self.refused.put(gateway, refused)
        else:
            self.refused.remove(gateway)

    async def _remove(self, gateway: Key) -> None:
        self._accepted.pop(gateway, None)
        self.refused.remove(gateway)
        await self._plane.remove(gateway)
