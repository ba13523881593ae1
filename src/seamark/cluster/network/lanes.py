"""Loopback addresses for a cluster: two of them on one machine must not give out the same.

- A lane is a range for Services and one for Pods. Whoever has it listens at a port of it: no file is left behind, and
  whatever ends the program sets the lane free.
"""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass, field

from seamark.core.errors import UserError

LANES = 8
MARK = 30007  # at an address that Services are given last


@dataclass(frozen=True)
class Lane:
    services: str
    pods: str
    mark: socket.socket | None = field(default=None, repr=False, compare=False)

    def close(self) -> None:
        """Somebody else may have it."""
        if self.mark is not None:
            self.mark.close()


def claim() -> Lane:
    """The first that nobody has: 127.96.0.0/16 and 127.244.0.0/16, then those between them."""
    for number in range(LANES):
        services, pods = f"127.{96 + number}.0.0/16", f"127.{244 - number}.0.0/16"
        try:
            mark = socket.create_server((f"127.{96 + number}.255.254", MARK))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            return Lane(services, pods)  # a machine on which only 127.0.0.1 is there: whoever listens will tell
        return Lane(services, pods, mark)
    raise UserError(f"{LANES} clusters have this machine's loopback addresses already", hint="end one of them")
