"""A cluster for the show: the embedded one, in this process; a real control plane; or one that a kubeconfig names."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from seamark.cli.dev.examples import gathered
from seamark.cli.dev.parts import Parts, first_free
from seamark.cli.dev.programs import IMAGES
from seamark.cli.dev.show import Place, Show
from seamark.cli.progress import shown
from seamark.cluster.kubelet.images import Images
from seamark.cluster.network import namespaces
from seamark.cluster.real.binaries import find
from seamark.cluster.real.plane import ControlPlane
from seamark.cluster.server.cluster import ClusterSettings, EmbeddedCluster, with_node
from seamark.core import log
from seamark.core.errors import UserError

CLUSTERS = ("embedded", "real")
DNS_HOST, DNS_PORTS = "127.0.0.1", range(10153, 10253)  # of the cluster's own names, where Pods are on loopback

Check = Annotated[bool, typer.Option("--check", help="Start, wait until every example answers, stop.")]
Examples = Annotated[Path, typer.Option(help="The manifests to apply.")]
Which = Annotated[str, typer.Option("--cluster", help="embedded: in this process; real: etcd and kube-apiserver.")]
Kubeconfig = Annotated[str, typer.Option(help="Use the cluster that this kubeconfig names, and start none.")]
Network = Annotated[str, typer.Option(help="Of Pods on the embedded cluster: loopback, or bridge as root, or auto.")]


def dev(
    check: Check = False,
    examples: Examples = Path("examples"),
    cluster: Which = "embedded",
    kubeconfig: Kubeconfig = "",
    network: Network = "loopback",
) -> None:
    """Show everything on this machine: a cluster, an edge, names, the operator, and the examples, which answer."""
    found = gathered(examples)
    if cluster not in CLUSTERS:
        raise UserError(f"there is no cluster {cluster!r}", hint=f"choose one of {', '.join(CLUSTERS)}")
    log.configure("critical")
    show = Show(found, Parts(say), check=check)
    if kubeconfig:
        uvloop.run(show.at(Place("that kubeconfig", Path(kubeconfig), ours=False), time.monotonic()))
    elif cluster == "embedded":
        uvloop.run(embedded(show, network, time.monotonic()))
    else:
        real(show)


def say(words: str) -> None:
    typer.echo(words, err=True)


async def embedded(show: Show, network: str, began: float) -> None:
    with tempfile.TemporaryDirectory(prefix="seamark-dev-") as folder:
        cluster = EmbeddedCluster(Path(folder), cluster_settings(network))
        await cluster.start()
        try:
            assert cluster.machine is not None
            server = f"{cluster.machine.dns}:{cluster.machine.dns_port}" if cluster.machine.dns else ""
            node = cluster.machine.network.node
            place = Place(cluster.url, cluster.kubeconfig, node=node, names=server, folder=Path(folder))
            await show.at(place, began)
        finally:
            await cluster.close()


def cluster_settings(network: str) -> ClusterSettings:
    if network == "bridge" and not namespaces.allowed():
        say("you may not make networks here: Pods have loopback addresses instead")
        network = "loopback"
    settings = with_node(network, images=Images(IMAGES))
    if settings.node is not None and settings.node.network == "loopback" and (port := first_free(DNS_HOST, DNS_PORTS)):
        return replace(settings, node=replace(settings.node, dns_address=DNS_HOST, dns_port=port))
    return settings


def real(show: Show) -> None:
    with shown() as tell:
        find(tell)
    began = time.monotonic()  # what was fetched or compiled is there from now on
    with ControlPlane() as plane:
        place = Place(plane.url, plane.kubeconfig, defined=plane.restart_controllers)
        uvloop.run(show.at(place, began))
