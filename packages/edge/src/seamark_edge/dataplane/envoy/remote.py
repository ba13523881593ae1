"""Envoys elsewhere: Pods of the cluster, which connect over TLS with certificates on both sides.

An Envoy's certificate names the one Gateway that it serves (`identity`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import grpc
import structlog

from seamark_edge.dataplane.envoy.probe import connect
from seamark_edge.dataplane.envoy.server import XdsServer, grpc_server
from seamark_edge.dataplane.model import Snapshot
from seamark_edge.dataplane.protocol import Outcome, Presence
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import UserError
from seamark_runtime.source import Facts

log = structlog.get_logger(__name__)

LOOK = 1.0  # seconds between two attempts to listen at a port that another process uses


@dataclass(frozen=True)
class XdsListener:
    """Where the xDS server listens, and the directory with its tls.crt, tls.key and the ca.crt of its clients."""

    address: str
    certificates: Path


class RemoteEnvoys:
    """Contract of `protocol.DataPlane`. Who starts the Envoys, and where, is others' business."""

    def __init__(self, listener: XdsListener) -> None:
        self.presence: Facts[Key, Presence] = Facts("data plane")
        self.lasting = False  # they keep their configuration, and connect to the process that leads
        self._listener = listener
        self._server = XdsServer(self.presence, certified=True)

    async def run(self) -> None:
        secured = await asyncio.to_thread(credentials, self._listener.certificates)
        while (server := self._bound(secured)) is None:  # noqa: ASYNC110 - no event tells when a port is free
            await asyncio.sleep(LOOK)
        await server.start()
        log.info("xds listens", address=self._listener.address)
        try:
            await asyncio.Event().wait()
        finally:
            await server.stop(None)

    def _bound(self, secured: grpc.ServerCredentials) -> grpc.aio.Server | None:
        """None: another process uses the port, for example an operator that is about to end."""
        server = grpc_server(self._server)
        try:
            server.add_secure_port(self._listener.address, secured)
        except RuntimeError as error:
            log.warning("xds can't listen; trying again", address=self._listener.address, error=str(error))
            return None
        return server

    async def program(self, gateway: Key, snapshot: Snapshot) -> Outcome:
        return await self._server.program(gateway, snapshot)

    async def retain(self, exists: Callable[[Key], bool]) -> None:
        """Nothing is left by an earlier process."""

    async def connect(self, host: str, port: int) -> None:
        await connect(host, port)

    async def remove(self, gateway: Key) -> None:
        self._server.forget(gateway)


def credentials(directory: Path) -> grpc.ServerCredentials:
    """Read anew for every connection, so that renewed certificates are used without a restart."""

    def configuration() -> grpc.ServerCertificateConfiguration:
        try:
            pair = ((directory / "tls.key").read_bytes(), (directory / "tls.crt").read_bytes())
            trusted = (directory / "ca.crt").read_bytes()
        except OSError as error:
            raise UserError(f"gateway_xds_certificates: {error}", hint="it needs tls.crt, tls.key and ca.crt") from None
        return grpc.ssl_server_certificate_configuration([pair], root_certificates=trusted)

    first = configuration()
    return grpc.dynamic_ssl_server_credentials(first, configuration, require_client_authentication=True)
