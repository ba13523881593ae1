"""What all Pods of a node share, and what one Pod's containers share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seamark.api.core import Container, Pod, TokenFile
from seamark.api.meta import Key
from seamark.cluster.kubelet.environment import Lookup, Standing, command_line, environment
from seamark.cluster.kubelet.images import Image, Images, filled
from seamark.cluster.kubelet.runtime import Launch, Mount, Runtime, kept
from seamark.cluster.network.pods import Network, Place
from seamark.core.clock import Clock

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
RESOLV_CONF = "/etc/resolv.conf"


@dataclass(frozen=True)
class Resolver:
    """The cluster's DNS, as Pods are told of it."""

    address: str
    domain: str = "cluster.local"

    def file(self, namespace: str) -> str:
        search = f"{namespace}.svc.{self.domain} svc.{self.domain} {self.domain}"
        return f"search {search}\nnameserver {self.address}\noptions ndots:5\n"


@dataclass(frozen=True)
class Host:
    """The node as its Pods need it. Everything here is passed in, so that a Pod's life can be lived without one."""

    name: str
    network: Network
    runtime: Runtime
    images: Images
    directory: Path
    clock: Clock
    lookup: Callable[[str], Lookup]  # by namespace
    token: Callable[[Pod, TokenFile], Awaitable[bytes]]
    claimed: Callable[[Key], Awaitable[Path]]  # the directory that a claim stands for
    warn: Callable[[Pod, str, str], None]  # an event: reason and message
    resolver: Resolver | None = None
    backoff: float = 10.0  # seconds before the second restart in a row; doubles up to five minutes
    variables: dict[str, str] = field(default_factory=dict)  # for every container: where the API server is


@dataclass(frozen=True)
class Surroundings:
    """One Pod's place on this node: its address and its directory."""

    host: Host
    pod: Pod
    place: Place
    directory: Path

    @property
    def standing(self) -> Standing:
        return Standing(self.place.address, self.host.name, self.host.network.node)

    @property
    def isolated(self) -> bool:
        """Whether its processes can have mounts of their own; else their paths are rewritten."""
        return self.place.mounts

    def volume(self, name: str) -> Path:
        """Where a volume's files are; for a directory of the machine, that one."""
        host = next((one.host_path for one in self.pod.spec.volumes or () if one.name == name), None)
        return Path(host.path) if host is not None else self.directory / "volumes" / name

    def log(self, container: str, restarts: int) -> Path:
        return self.directory / "logs" / container / f"{restarts}.log"

    def launch(self, container: Container, image: Image, restarts: int) -> Launch:
        """How to start a container; NotConfigured if something that it needs is missing."""
        host, pod, address = self.host, self.pod, self.place.address
        usual = {name: filled(text, ip=address, root=self.directory) for name, text in image.env.items()}
        first = {"PATH": PATH, "HOME": "/root", "HOSTNAME": pod.metadata.name, **host.variables, **usual}
        if not self.isolated:
            first |= {"POD_IP": address, "SEAMARK_POD_ROOT": str(self.directory / "root")}
        env = environment(pod, container, host.lookup(pod.metadata.namespace), self.standing, first)
        command = [filled(word, ip=address, root=self.directory) for word in image.command]
        argv = command_line(container, command, [filled(w, ip=address, root=self.directory) for w in image.args], env)
        mounts = self.mounts(container)
        cwd = container.working_dir
        if not self.isolated:
            own = kept(argv, env)
            argv, cwd = [rewritten(word, mounts, own) for word in argv], rewritten(cwd, mounts, own)
            env = {name: rewritten(text, mounts, own) for name, text in env.items()}
            mounts = []
        elif host.resolver is not None and pod.spec.dns_policy != "Default":
            mounts.append(Mount(self.directory / "resolv.conf", RESOLV_CONF, read_only=True))
        staging = self.directory / "rootfs"
        log = self.log(container.name, restarts)
        return Launch(argv, env, cwd, self.place, mounts, staging, log, container.stdin)

    def mounts(self, container: Container) -> list[Mount]:
        return [
            Mount(self.volume(mount.name) / mount.sub_path, mount.mount_path.rstrip("/") or "/", mount.read_only)
            for mount in container.volume_mounts or ()
        ]


def rewritten(text: str, mounts: Sequence[Mount], own: Sequence[str] = ()) -> str:
    """Without mounts of their own, programs are told the real place of each mounted path.

    A mount path is replaced where it begins a word or follows one of `=:,` and a blank, and ends as a path does.
    What is in the program's own directories stays.
    """
    if any(text == one or text.startswith(one + "/") for one in own):
        return text
    for mount in sorted(mounts, key=lambda one: len(one.target), reverse=True):
        text = _replaced(text, mount.target, str(mount.source))
    return text


def _replaced(text: str, old: str, new: str) -> str:
    parts, at = [], 0
    while (found := text.find(old, at)) >= 0:
        end = found + len(old)
        begins = found == 0 or text[found - 1] in "=:, \"'"
        ends = end == len(text) or text[end] in "/:, \"'"
        parts += [text[at:found], new if begins and ends else old]
        at = end
    return "".join((*parts, text[at:]))
