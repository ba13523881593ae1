"""The table of images.md: what each image offers to a runner."""

from __future__ import annotations

from dataclasses import dataclass

from tests.score_files.corpus import ROOT

PREFIXES = ("docker.io/library/", "docker.io/")


@dataclass(frozen=True)
class Image:
    """One row. `environment` is the path at which the program shows its environment, empty if it does not."""

    name: str
    ports: tuple[int, ...]
    shell: bool
    environment: str

    @property
    def shows_environment(self) -> bool:
        return self.shell or bool(self.environment)


def table() -> dict[str, Image]:
    found = {}
    for line in (ROOT / "images.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `"):
            name, _entrypoint, _arguments, ports, shell, environment = cells
            numbers = tuple(int(port) for port in ports.split(",") if port)
            found[name] = Image(name, numbers, shell == "yes", environment)
    return found


def known(reference: str, images: dict[str, Image]) -> Image | None:
    """The image of a reference, under whatever usual name of it."""
    for prefix in PREFIXES:
        reference = reference.removeprefix(prefix)
    if ":" not in reference.rpartition("/")[2]:
        return next((image for name, image in images.items() if name.rpartition(":")[0] == reference), None)
    return images.get(reference)
