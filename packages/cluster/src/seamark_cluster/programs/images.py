"""The images that are known without a table, and the program that each is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from seamark_cluster.kubelet.images import Image
from seamark_cluster.programs.files import PAGES

START = str(Path(__file__).with_name("start.py"))
SHELL = Image(command=("/bin/sh",))


def program(name: str) -> tuple[str, ...]:
    return ("{python}", "-I", START, name)


def demo(name: str, *called: str) -> Image:
    """A program of ours, which a command may call by the names that it has in the image."""
    return Image(command=program(name), programs=dict.fromkeys(called, program(name)))


def server(command: str, *args: str) -> Image:
    """A program of this machine, where it is installed; its clients are used in the same image."""
    return Image(command=(command, *args))


def _known() -> Iterator[tuple[Sequence[str], Image]]:
    yield ("ghcr.io/stefanprodan/podinfo", "stefanprodan/podinfo"), demo("podinfo", "./podinfo", "podinfo")
    yield ("traefik/whoami", "containous/whoami"), demo("whoami", "/whoami", "whoami")
    yield ("hashicorp/http-echo",), demo("http-echo", "/http-echo", "http-echo")
    yield ("mendhak/http-https-echo",), Image(command=program("http-https-echo"))
    static = {"nginx": program("nginx"), "/docker-entrypoint.sh": program("nginx")}
    yield ("nginx", "nginxinc/nginx-unprivileged"), Image(command=program("nginx"), programs=static, files=PAGES)
    applets = Image(args=("sh",), programs={"httpd": program("httpd")})
    yield ("busybox",), applets
    yield ("alpine", "debian", "ubuntu"), Image(args=("sh",))
    python = dict.fromkeys(("python", "python3"), ("{python}", "-s"))
    yield ("python",), Image(args=("python3",), programs=python)
    yield ("redis",), server("redis-server", "--protected-mode", "no", "--dir", "/tmp")  # noqa: S108
    yield ("valkey/valkey",), server("valkey-server", "--protected-mode", "no", "--dir", "/tmp")  # noqa: S108
    yield ("mysql", "mariadb"), server("mysqld")
    yield ("mongo",), server("mongod")
    yield ("postgres",), Image(command=program("postgres"))


KNOWN: Mapping[str, Image] = {
    pattern: image for names, image in _known() for name in names for pattern in (name, f"{name}:*", f"{name}@*")
}
