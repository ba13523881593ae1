"""Signs the certificates of Envoys with the installation's authority."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.families.gateway.infrastructure.state import Certify, Credential
from seamark_edge.dataplane.envoy.identity import Identity
from seamark_runtime.clock import Clock
from seamark_runtime.errors import Refused
from seamark_runtime.signing import CA_CRT, due, issue


class Signer:
    """Performs `Certify`. A certificate is signed once: it is kept until it is seen in its Secret."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._signed: dict[Identity, Mapping[str, bytes]] = {}  # signed, and not seen in a Secret yet

    async def certify(self, action: Certify) -> Credential:
        now, names = self._clock.wall(), (action.identity.uri,)
        if not due(action.present, action.authority[CA_CRT], names, now):
            self._signed.pop(action.identity, None)
            return Credential(action.present)
        signed = self._signed.get(action.identity, {})
        if due(signed, action.authority[CA_CRT], names, now):
            try:
                signed = issue(action.authority, names, now, client_only=True)
            except (ValueError, TypeError, AssertionError):
                raise Refused("the authority's key can't be used") from None
            self._signed[action.identity] = signed
        return Credential(signed)
