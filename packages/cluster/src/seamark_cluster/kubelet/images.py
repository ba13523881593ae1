"""The table of known images: the program on this machine for each image.

    images:
      registry.example.com/shop/web:*:        # a pattern: * and ? match as in a shell; an exact name goes first
        command: ["/opt/web/bin/web", "--listen", "{ip}:8080"]
        args: ["--verbose"]                   # like an image's CMD: a container's own args replace them
        env: {MODE: test}
        programs: {"/web": ["/opt/web/bin/web"]}   # what the image has by these names: for commands, and on the PATH
        files: {"/etc/web.conf": "mode = test"}     # of the image; where Pods have mounts of their own

An image is known by each of its usual names: with and without `docker.io/`, `docker.io/library/`.
`{ip}` is the Pod's address, `{python}` the interpreter that runs Seamark, `{root}` the Pod's own directory.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import yaml

from seamark_runtime.errors import UserError

ECHO = "seamark.dev/echo"
REGISTRIES = ("docker.io/library/", "docker.io/")  # what the usual short names leave out


class Image(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The configuration of an image: the program, its default arguments, its environment, and what else is in it."""

    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict)
    programs: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    files: Mapping[str, str] = msgspec.field(default_factory=dict)


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    images: dict[str, Image] = msgspec.field(default_factory=dict)


BUILT_IN: Mapping[str, Image] = {
    f"{ECHO}*": Image(
        command=("{python}", "-S", "-m", "seamark_cluster.echo"),
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONUNBUFFERED": "1"},
    )
}


class Images:
    """Finds the program for an image. The echo image is always known; a table may add others, or replace it."""

    def __init__(self, table: Mapping[str, Image] | None = None) -> None:
        self._table = {**BUILT_IN, **(table or {})}

    def beside(self, known: Mapping[str, Image]) -> Images:
        """With images that are known without the table; the table's own entries go first."""
        return Images({**known, **self._table})

    def find(self, name: str) -> Image | None:
        return next((image for each in names(name) if (image := self._find(each)) is not None), None)

    def _find(self, name: str) -> Image | None:
        if name in self._table:
            return self._table[name]
        patterns = sorted(self._table, key=len, reverse=True)  # exact names first
        return next((self._table[pattern] for pattern in patterns if fnmatchcase(name, pattern)), None)

    def unknown(self, name: str) -> str:
        """The message for an image that is not in the table."""
        variants = {f"{each}{ending}" for each in self._table for ending in (":*", "@*")}
        known = ", ".join(sorted(self._table.keys() - variants))
        return (
            f'image "{name}" is not in this node\'s table of images, and nothing is pulled; name a local program '
            f"for it in a table, with --images, or use one that is known: {known}"
        )


def names(image: str) -> list[str]:
    """The name as it is written, then the short ones for the same image."""
    short = (image.removeprefix(registry) for registry in REGISTRIES if image.startswith(registry))
    return list(dict.fromkeys((image, *short)))


def load(path: Path) -> Images:
    """The table in a file; an error names the place in it."""
    try:
        text: Any = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        raise UserError(f"no table of images at {path}", hint="name one with --images") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the table of images {path} can't be read ({error})") from None
    except yaml.YAMLError as error:
        raise UserError(f"the table of images {path} is not valid YAML: {' '.join(str(error).split())}") from None
    try:
        return Images(msgspec.convert(text or {}, _Table).images)
    except msgspec.ValidationError as error:
        hint = "under `images`, each image has command, args, env, programs and files"
        raise UserError(f"the table of images {path}: {error}", hint=hint) from None


def filled(text: str, *, ip: str, root: Path) -> str:
    """A template with its placeholders filled in."""
    return text.replace("{python}", sys.executable).replace("{ip}", ip).replace("{root}", str(root))
