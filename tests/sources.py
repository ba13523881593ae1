"""Where the source of each distribution is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = {path.name: path for path in sorted(ROOT.glob("packages/*/src/*")) if (path / "__init__.py").exists()}
PYTHONPATH = os.pathsep.join(str(path.parent) for path in PACKAGES.values())


def modules(*packages: str) -> Iterator[tuple[str, Path]]:
    """Every file of these packages (of all, if none is named), by its path below the folder of sources."""
    for name in packages or PACKAGES:
        for path in sorted(PACKAGES[name].rglob("*.py")):
            yield path.relative_to(PACKAGES[name].parent).as_posix(), path
