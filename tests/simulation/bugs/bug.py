"""A planted bug: a small change of the code under test, and how it gets into a process.

- A change names a module and a text that stands in it exactly once; if it does not, the bug no longer applies.
- The changed source is compiled in place of the file's own, in a process of its own: no file is touched.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType

from tests.sources import PACKAGES


class NotApplicableError(Exception):
    """The code has changed: the bug has to be planted anew."""


@dataclass(frozen=True)
class Change:
    module: str
    before: str
    after: str


@dataclass(frozen=True)
class Bug:
    """`kind` is its class in the studies of Sieve and Acto; `first` the schedules that are tried before all others."""

    name: str
    kind: str
    words: str
    changes: tuple[Change, ...]
    first: tuple[str, ...] = ()

    def sources(self) -> dict[str, str]:
        """Module → its source with the bug in it."""
        found: dict[str, str] = {}
        for change in self.changes:
            package, _, rest = change.module.partition(".")
            text = found.get(change.module) or (PACKAGES[package] / f"{rest.replace('.', '/')}.py").read_text()
            if text.count(change.before) != 1:
                raise NotApplicableError(
                    f"{self.name}: in {change.module} this stands {text.count(change.before)} times, not once: "
                    f"{change.before!r}"
                )
            found[change.module] = text.replace(change.before, change.after)
        return found

    def plant(self) -> None:
        """From now on, imports get the bug. To be called before anything of Seamark is imported."""
        assert not any(name.startswith("seamark_runtime") for name in sys.modules), "it is too late"
        sys.meta_path.insert(0, _Planter(self.sources()))


class _Planter(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._sources:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def get_source(self, fullname: str) -> str:
        return self._sources[fullname]

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self._sources[fullname], f"<{fullname}, with a bug>")

    def is_package(self, fullname: str) -> bool:
        return False
