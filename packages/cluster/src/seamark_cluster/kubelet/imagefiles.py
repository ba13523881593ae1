"""What an image brings beside its program: programs by the names that they have in it, and files."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seamark_cluster.kubelet.images import Image, filled
from seamark_cluster.kubelet.runtime import Mount


@dataclass(frozen=True)
class ImageFiles:
    """Of one container, below a directory of its own."""

    directory: Path
    image: Image

    @property
    def _programs(self) -> dict[str, list[str]]:
        return {
            name: [filled(word, ip="", root=self.directory) for word in command]
            for name, command in self.image.programs.items()
        }

    def write(self) -> None:
        """A script for each program without a directory in its name, so that shells find it; and the files."""
        for name, command in self._programs.items():
            if "/" not in name:
                script = self.directory / "bin" / name
                _written(script, f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
                script.chmod(0o755)
        for number, content in enumerate(self.image.files.values()):
            _written(self._file(number), content)

    def path(self, usual: str) -> str:
        """The PATH of its processes."""
        return f"{self.directory / 'bin'}:{usual}" if self.image.programs else usual

    def resolved(self, argv: Sequence[str]) -> list[str]:
        """With a program of the image by its command on this machine."""
        return [*self._programs.get(argv[0], argv[:1]), *argv[1:]] if argv else []

    def mounts(self, taken: Sequence[str]) -> list[Mount]:
        """The files, but for those in whose place the container has a mount of its own."""
        return [
            Mount(self._file(number), target)
            for number, target in enumerate(self.image.files)
            if not any(target == other or target.startswith(f"{other.rstrip('/')}/") for other in taken)
        ]

    def _file(self, number: int) -> Path:
        return self.directory / "files" / str(number)


def _written(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
