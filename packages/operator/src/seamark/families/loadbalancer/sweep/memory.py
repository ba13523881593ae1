"""The memory of the sweep: since when the Kubernetes object of each object at the edge is gone."""

from __future__ import annotations

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.model.clusters import cluster_uid
from seamark.families.loadbalancer.model.options import Options
from seamark.families.loadbalancer.sweep.reconcile import listing
from seamark.families.loadbalancer.sweep.state import ADDRESS, DOMAIN, ENDPOINT, ListOwned, Owned
from seamark_edge.api.ngrok import CloudEndpoint
from seamark_runtime.api.core import Service
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.calls import Results
from seamark_runtime.source import Fresh
from seamark_runtime.sweep import Unclaimed, looked
from seamark_runtime.view import View

MADE_FOR: dict[str, type[Object]] = {ADDRESS: Service, ENDPOINT: CloudEndpoint, DOMAIN: Domain}


class Sweeping:
    def __init__(self, options: Options) -> None:
        self._options = options
        self.unclaimed: Unclaimed[Owned] = {}

    def advance(self, view: View, _key: Key, results: Results) -> None:
        action = list_owned(self._options, view)
        if action is None:
            return
        match results.to(listing(self._options.timing, action)):
            case Fresh(value=found):
                self.unclaimed = looked(self.unclaimed, found, lambda owned: exists(view, owned), view.now)

    def forget(self, _key: Key) -> None:
        self.unclaimed = {}


def list_owned(options: Options, view: View) -> ListOwned | None:
    """None while nothing is known by which a cluster without a name of its own differs from others."""
    if options.named:
        return ListOwned(options.cluster, "")
    uid = cluster_uid(view)
    return ListOwned(options.cluster, uid) if uid else None


def exists(view: View, owned: Owned) -> bool:
    return view.exists(MADE_FOR[owned.kind], Key(owned.owner.namespace, owned.owner.name), owned.owner.uid)
