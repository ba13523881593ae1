"""An API server in this process: the store, and the transport to it."""

from seamark_cluster.embedded.calls import ADMIN, User
from seamark_cluster.embedded.store import Settings, Store
from seamark_cluster.embedded.transport import EmbeddedTransport
from seamark_cluster.embedded.watching import Pace, Watch

__all__ = ["ADMIN", "EmbeddedTransport", "Pace", "Settings", "Store", "User", "Watch"]
