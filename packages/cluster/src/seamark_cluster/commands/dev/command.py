"""The cluster of `seamark dev`: the embedded one, in this process; a real control plane; or one from a kubeconfig."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from seamark_cluster.commands.dev.demo import Demo, Place
from seamark_cluster.commands.dev.examples import gathered
from seamark_cluster.commands.dev.parts import Parts, first_free
from seamark_cluster.commands.dev.programs import IMAGES
from seamark_cluster.commands.progress import shown
from seamark_cluster.kubelet.images import Images, load
from seamark_cluster.network import namespaces
from seamark_cluster.programs.images import KNOWN
from seamark_cluster.real.binaries import find
from seamark_cluster.real.plane import ControlPlane
from seamark_cluster.server.cluster import ClusterSettings, EmbeddedCluster, with_node
from seamark_runtime import log
from seamark_runtime.errors import UserError
from seamark_runtime.signals import run_until_stopped, until_stopped

CLUSTERS = ("embedded", "real")
DNS_HOST, DNS_PORTS = "127.0.0.1", range(10153, 10253)  # cluster DNS, where Pods are on loopback

Check = Annotated[bool, typer.Option("--check", help="Start, wait until every example answers, stop.")]
Examples = Annotated[Path, typer.Option(help="The manifests to apply.")]
Which = Annotated[str, typer.Option("--cluster", help="embedded: in this process; real: etcd and kube-apiserver.")]
Kubeconfig = Annotated[str, typer.Option(help="Use the cluster of this kubeconfig instead of starting one.")]
Network = Annotated[
    str, typer.Option(help="The Pod network of the embedded cluster: loopback, bridge (needs root) or auto.")
]

Table = Annotated[
    Path | None, typer.Option("--images", help="A table of images: the local program for each, beside the known ones.")
]


def dev(
    check: Check = False,
    examples: Examples = Path("examples"),
    cluster: Which = "embedded",
    kubeconfig: Kubeconfig = "",
    network: Network = "loopback",
    images: Table = None,
) -> None:
    """Run everything on this machine: a cluster, an edge, DNS, the operator, and the examples with their checks."""
    found = gathered(examples)
    if cluster not in CLUSTERS:
        raise UserError(f"there is no cluster {cluster!r}", hint=f"choose one of {', '.join(CLUSTERS)}")
    table = (load(images) if images is not None else Images()).beside({**KNOWN, **IMAGES})
    log.configure("critical")
    demo = Demo(found, Parts(warn), check=check)
    if kubeconfig:
        there = Place("that kubeconfig", Path(kubeconfig), ours=False)
        uvloop.run(run_until_stopped(demo.at(there, time.monotonic())))
    elif cluster == "embedded":
        uvloop.run(run_until_stopped(embedded(demo, cluster_settings(network, table), time.monotonic())))
    else:
        real(demo)


def warn(message: str) -> None:
    typer.echo(message, err=True)


async def embedded(demo: Demo, settings: ClusterSettings, began: float) -> None:
    with tempfile.TemporaryDirectory(prefix="seamark-dev-") as folder:
        cluster = EmbeddedCluster(Path(folder), settings)
        try:
            await cluster.start()
            assert cluster.machine is not None
            server = f"{cluster.machine.dns}:{cluster.machine.dns_port}" if cluster.machine.dns else ""
            node = cluster.machine.network.node
            place = Place(cluster.url, cluster.kubeconfig, node=node, names=server, folder=Path(folder))
            await demo.at(place, began)
        finally:
            await cluster.close()


def cluster_settings(network: str, images: Images) -> ClusterSettings:
    if network == "bridge" and not namespaces.allowed():
        warn("no rights to create networks; Pods use loopback addresses")
        network = "loopback"
    settings = with_node(network, images=images)
    if settings.node is not None and settings.node.network == "loopback" and (port := first_free(DNS_HOST, DNS_PORTS)):
        return replace(settings, node=replace(settings.node, dns_address=DNS_HOST, dns_port=port))
    return settings


def real(demo: Demo) -> None:
    with until_stopped():
        with shown() as report:
            find(report)
        began = time.monotonic()  # the binaries are cached from now on
        with ControlPlane() as plane:
            place = Place(plane.url, plane.kubeconfig, defined=plane.restart_controllers)
            uvloop.run(run_until_stopped(demo.at(place, began)))
