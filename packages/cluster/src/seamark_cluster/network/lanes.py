"""Loopback ranges for clusters: two clusters on one machine must not use the same addresses.

- A lane is a range for Services, one for Pods and one for gateways. Its owner holds it by listening on a port in it: no
  file is left behind, and the lane is free when the process ends.
"""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass, field

from seamark_runtime.errors import UserError

LANES = 8
IN_USE = f"{LANES} clusters already use this machine's loopback addresses"
MARK = 30007  # at an address that is given last


@dataclass(frozen=True)
class Lane:
    services: str
    pods: str
    mark: socket.socket | None = field(default=None, repr=False, compare=False)

    def close(self) -> None:
        """The lane is in use by another process."""
        if self.mark is not None:
            self.mark.close()


@dataclass(frozen=True)
class GatewayRange:
    addresses: str
    mark: socket.socket | None = field(default=None, repr=False, compare=False)

    def close(self) -> None:
        if self.mark is not None:
            self.mark.close()


def claim() -> Lane:
    """The first free lane: 127.96.0.0/16 and 127.244.0.0/16, then those between them."""
    for number in range(LANES):
        free, mark = _held(f"127.{96 + number}.255.254")
        if free:
            return Lane(f"127.{96 + number}.0.0/16", f"127.{244 - number}.0.0/16", mark)
    raise UserError(IN_USE, hint="end one of them")


def claim_gateways() -> GatewayRange:
    """The first free range of 127.0.80.0/24 and those after it."""
    for number in range(LANES):
        free, mark = _held(f"127.0.{80 + number}.254")
        if free:
            return GatewayRange(f"127.0.{80 + number}.0/24", mark)
    raise UserError(IN_USE, hint="end one of them")


def _held(address: str) -> tuple[bool, socket.socket | None]:
    """Whether it is free, and what holds it from now on.

    Nothing, on a machine that has only 127.0.0.1: listening in the range fails later, with a message.
    """
    try:
        return True, socket.create_server((address, MARK))
    except OSError as error:
        return error.errno != errno.EADDRINUSE, None
