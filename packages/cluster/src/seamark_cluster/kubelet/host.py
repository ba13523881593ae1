"""What all Pods of a node share, and what one Pod's containers share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seamark_cluster.kubelet.environment import Lookup, NotConfigured, Placement, command_line, environment
from seamark_cluster.kubelet.imagefiles import ImageFiles
from seamark_cluster.kubelet.images import Image, Images, filled
from seamark_cluster.kubelet.runtime import Launch, Mount, Runtime, kept
from seamark_cluster.kubelet.volumes import mount_point, safe
from seamark_cluster.network.pods import Network, Place
from seamark_runtime.api.core import Container, Pod, TokenFile, VolumeMount
from seamark_runtime.api.meta import Key
from seamark_runtime.clock import Clock

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
RESOLV_CONF = "/etc/resolv.conf"


@dataclass(frozen=True)
class Resolver:
    """The cluster's DNS, as in Pods' resolv.conf."""

    address: str
    domain: str = "cluster.local"

    def file(self, namespace: str) -> str:
        search = f"{namespace}.svc.{self.domain} svc.{self.domain} {self.domain}"
        return f"search {search}\nnameserver {self.address}\noptions ndots:5\n"


@dataclass(frozen=True)
class Host:
    """The node as its Pods need it. Everything is passed in, so that a Pod can be tested without a node."""

    name: str
    network: Network
    runtime: Runtime
    images: Images
    directory: Path
    clock: Clock
    lookup: Callable[[str], Lookup]  # by namespace
    token: Callable[[Pod, TokenFile], Awaitable[bytes]]
    claimed: Callable[[Key], Awaitable[Path]]  # the directory of a claim
    warn: Callable[[Pod, str, str], None]  # an event: reason and message
    resolver: Resolver | None = None
    backoff: float = 10.0  # seconds before the second consecutive restart; doubles up to five minutes
    variables: dict[str, str] = field(default_factory=dict)  # for every container: the address of the API server


@dataclass(frozen=True)
class PodContext:
    """One Pod on this node: its address and its directory."""

    host: Host
    pod: Pod
    place: Place
    directory: Path

    @property
    def placement(self) -> Placement:
        return Placement(self.place.address, self.host.name, self.host.network.node)

    @property
    def isolated(self) -> bool:
        """Whether its processes can have mounts of their own; else their paths are rewritten."""
        return self.place.mounts

    def volume(self, name: str) -> Path:
        """The directory of a volume's files; for a hostPath, that directory."""
        host = next((volume.host_path for volume in self.pod.spec.volumes or () if volume.name == name), None)
        return Path(host.path) if host is not None else self.directory / "volumes" / name

    def log(self, container: str, restarts: int) -> Path:
        return self.directory / "logs" / container / f"{restarts}.log"

    def launch(self, container: Container, image: Image, restarts: int) -> Launch:
        """How to start a container; NotConfigured if one of its references is missing."""
        host, pod, address = self.host, self.pod, self.place.address
        usual = {name: filled(text, ip=address, root=self.directory) for name, text in image.env.items()}
        own_files = ImageFiles(self.directory / "image" / container.name, image)
        own_files.write()
        first = {
            "PATH": own_files.path(PATH),
            "HOME": "/root",
            "HOSTNAME": pod.metadata.name,
            **host.variables,
            **usual,
        }
        if not self.isolated:
            first |= {"POD_IP": address, "SEAMARK_POD_ROOT": str(self.directory / "root")}
        env = environment(pod, container, host.lookup(pod.metadata.namespace), self.placement, first)
        command = [filled(argument, ip=address, root=self.directory) for argument in image.command]
        usual_args = [filled(argument, ip=address, root=self.directory) for argument in image.args]
        argv = own_files.resolved(command_line(container, command, usual_args, env))
        for argument in (*argv, *env, *env.values(), container.working_dir):
            if "\x00" in argument:
                raise NotConfigured("a NUL character in its command, its variables or its workingDir")
        mounts = self.mounts(container)
        if self.isolated:
            mounts += own_files.mounts([mount.target for mount in mounts])
        cwd = container.working_dir
        if not self.isolated:
            own = kept(argv, env)
            argv, cwd = [rewritten(argument, mounts, own) for argument in argv], rewritten(cwd, mounts, own)
            env = {name: rewritten(text, mounts, own) for name, text in env.items()}
            mounts = []
        elif host.resolver is not None and pod.spec.dns_policy != "Default":
            mounts.append(Mount(self.directory / "resolv.conf", RESOLV_CONF, read_only=True))
        staging = self.directory / "rootfs"
        log = self.log(container.name, restarts)
        return Launch(argv, env, cwd, self.place, mounts, staging, log, container.stdin)

    def mounts(self, container: Container) -> list[Mount]:
        return [
            Mount(self.mounted(mount), mount_point(mount.mount_path), mount.read_only)
            for mount in container.volume_mounts or ()
        ]

    def mounted(self, mount: VolumeMount) -> Path:
        """The source of a mount: a volume, or a subPath of it."""
        volume = self.volume(mount.name)
        return volume / safe(mount.sub_path) if mount.sub_path else volume


def rewritten(text: str, mounts: Sequence[Mount], own: Sequence[str] = ()) -> str:
    """Without mounts of their own, programs get the real directory in place of each mount path.

    A mount path is replaced where it begins a word or follows `=`, `:`, `,` or a blank, and ends as a path does. Paths
    of the program's own directories are kept.
    """
    if any(text == entry or text.startswith(entry + "/") for entry in own):
        return text
    for mount in sorted(mounts, key=lambda item: len(item.target), reverse=True):
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
