"""A contract of import-linter: no two packages import each other, and no modules form a cycle.

`acyclic_siblings` compares what is side by side. It sees neither a package and its own sub-package, nor a cycle through
an `__init__`.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output

Graph = dict[str, set[str]]


class PackagePairs(Contract):
    """A module belongs to the package that contains it; the root modules of a package count as that package."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
        packages = {name: name if graph.find_children(name) else name.rpartition(".")[0] for name in imports}
        found = {"pairs": pairs(between(imports, packages)), "cycles": cycles(imports)}
        return ContractCheck(kept=not any(found.values()), metadata=found)

    def render_broken_contract(self, check: ContractCheck) -> None:
        for first, second in sorted(check.metadata["pairs"]):
            output.print_error(f"{first} and {second} import each other.")
        for cycle in sorted(map(sorted, check.metadata["cycles"])):
            output.print_error(f"{', '.join(cycle)} form a cycle.")


def between(imports: Graph, packages: dict[str, str]) -> Graph:
    """The imports of packages, from those of modules and the package of each."""
    graph: Graph = {}
    for module, targets in imports.items():
        package = packages[module]
        graph.setdefault(package, set()).update({packages[target] for target in targets} - {package})
    return graph


def pairs(graph: Graph) -> set[tuple[str, str]]:
    """The packages that import each other."""
    return {
        (package, other)
        for package, others in graph.items()
        for other in others
        if package < other and package in graph.get(other, ())
    }


def cycles(graph: Graph) -> set[frozenset[str]]:
    """One cycle after the other, each without the edge that closed the one before."""
    left = {module: set(targets) for module, targets in graph.items()}
    found: set[frozenset[str]] = set()
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            cycle: list[str] = error.args[1]
            found.add(frozenset(cycle))
            left[cycle[1]].discard(cycle[0])  # each node is a target of the next
        else:
            return found
