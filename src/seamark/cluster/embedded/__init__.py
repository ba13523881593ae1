"""An API server in this process: the store, and the transport to it."""

from seamark.cluster.embedded.calls import ADMIN, User
from seamark.cluster.embedded.store import Settings, Store
from seamark.cluster.embedded.transport import EmbeddedTransport
from seamark.cluster.embedded.watching import Pace, Watch

__all__ = ["ADMIN", "EmbeddedTransport", "Pace", "Settings", "Store", "User", "Watch"]
