"""Loopback ranges for clusters: two clusters on one machine must not use the same addresses.

- A lane is a range for Services and one for Pods. Its owner holds it by listening on a port in it: no file is left
  behind, and the lane is free when the process ends.
"""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass, field

from seamark_runtime.errors import UserError

LANES = 8
MARK = 30007  # at an address that Services are given last


@dataclass(frozen=True)
class Lane:
    services: str
    pods: str
    mark: socket.socket | None = field(default=None, repr=False, compare=False)

    def close(self) -> None:
        """The lane is in use by another process."""
        if self.mark is not None:
            self.mark.close()


def claim() -> Lane:
    """The first free lane: 127.96.0.0/16 and 127.244.0.0/16, then those between them."""
    for number in range(LANES):
        services, pods = f"127.{96 + number}.0.0/16", f"127.{244 - number}.0.0/16"
        try:
            mark = socket.create_server((f"127.{96 + number}.255.254", MARK))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            return Lane(services, pods)  # a machine that has only 127.0.0.1: listening will fail later, with a message
        return Lane(services, pods, mark)
    raise UserError(f"{LANES} clusters already use this machine's loopback addresses", hint="end one of them")
