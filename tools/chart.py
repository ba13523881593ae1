"""What the chart takes from the code: the rules of its roles, the kinds it needs, the schema of its values,
a dashboard.

`python -m tools.chart` writes them into charts/seamark; a test fails when one is out of date.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

import seamark
from seamark.cli.families import FAMILIES
from seamark.cli.policies import status_policies
from seamark.families.dns.sources.kinds import SOURCES
from seamark.families.score.family import SCORE
from seamark.lifecycle.parts import (
    TLS_SECRET,
    Installation,
    agent_grants,
    console_grants,
    evidence_grants,
    forwarder_grants,
    install_grants,
    lease_grants,
    renewal_grants,
    uninstall_grants,
)
from seamark_runtime.family import Family
from seamark_runtime.rbac import Grant, grants, rules
from tools.chart_schema import schema
from tools.dashboard import dashboard

CHART = Path(__file__).parent.parent / "charts" / "seamark"
MADE = "# Made by `python -m tools.chart` from what the code declares.\n"
NAME = NAMESPACE = "@"  # of the installation: known when the chart is rendered
HERE = {
    "SEAMARK_BINDINGS_NAMESPACE": NAMESPACE,
    "SEAMARK_GATEWAY_NAMESPACE": NAMESPACE,
    "SEAMARK_GATEWAY_DATA_PLANE": "cluster",
    "SEAMARK_SCORE_NAMESPACE": NAMESPACE,
}
USED = tuple(family for family in FAMILIES.values() if family.name != "sample")


def files() -> dict[str, str]:
    values = (CHART / "values.yaml").read_text()
    return {
        "generated/roles.yaml": MADE + _yaml(roles()),
        "generated/kinds.yaml": MADE + _yaml(kinds()),
        "generated/fence.yaml": MADE + _yaml(fences()),
        "values.schema.json": json.dumps(schema(values), indent=2) + "\n",
        "monitoring/dashboard.json": dashboard(),
        "Chart.yaml": chart(),
    }


def chart() -> str:
    """The program's version is the chart's: they are released together."""
    lines = (CHART / "Chart.yaml").read_text().splitlines(keepends=True)
    told = {"version:": f"version: {seamark.__version__}\n", "appVersion:": f'appVersion: "{seamark.__version__}"\n'}
    return "".join(told.get(line.split(" ", maxsplit=1)[0], line) for line in lines)


def kinds() -> dict[str, dict[str, str]]:
    """By family: the definitions it needs, and the version of each that it speaks."""
    return {family.name: {crd.name: crd.resource.version for crd in family.crds} for family in USED if family.crds}


def fences() -> dict[str, dict[str, list[dict[str, Any]]]]:
    """By whether families run apart, and by family: which fields of a status each may write (`seamark policies`)."""
    together = (("score", SCORE[:-1]), *((family.name, (family,)) for family in USED if family not in SCORE[:-1]))
    with _environment({**HERE, "SEAMARK_LB_CLASS": "@class", "SEAMARK_GATEWAY_CONTROLLER_NAME": "@controller"}):
        return {
            mode: {
                name: [_ours(one) for one in status_policies(families, "@namespace", account)]
                for name, families in together
            }
            for mode, account in (("whole", NAME), ("split", f"{NAME}-{{family}}"))
        }


def _ours(document: dict[str, Any]) -> dict[str, Any]:
    """Named after the installation; what releases everything before an uninstall may write for all of it."""
    leaving = f"'system:serviceaccount:@namespace:{NAME}-uninstall'"
    document["metadata"]["name"] = document["metadata"]["name"].replace("seamark", NAME, 1)
    spec = document["spec"]
    if "policyName" in spec:
        spec["policyName"] = document["metadata"]["name"]
    for rule in spec.get("validations", ()):
        both = rf"request.userInfo.username in [\1, {leaving}]"
        rule["expression"] = re.sub(r"request\.userInfo\.username == ('[^']*')", both, rule["expression"])
    return document


def roles() -> dict[str, dict[str, Any]]:
    """By part: its rules everywhere, and in the installation's own namespace."""
    split, whole = Installation(NAME, NAMESPACE, split=True), Installation(NAME, NAMESPACE)
    crds = [crd for family in USED for crd in family.crds]
    found = {name: _of(*chosen) for family in USED for name, chosen in _variants(family)}
    found |= {
        "leader": lease_grants(NAMESPACE),
        "agent": agent_grants(),
        "forwarder": forwarder_grants(NAMESPACE, TLS_SECRET),
        "console": console_grants(),
        "evidence": evidence_grants(),
        "install": install_grants(whole, crds),
        "renewal": renewal_grants(whole),
        "uninstall": uninstall_grants(whole, USED) | uninstall_grants(split, USED),
    }
    return {name: _places(rights) for name, rights in found.items()}


def _variants(family: Family) -> Iterator[tuple[str, tuple[Family, dict[str, str]]]]:
    """A family whose rights depend on a setting, once for each value of it."""
    if family.name == "dns":
        for source in ("crd", *SOURCES):
            yield f"dns.{source}", (family, {"SEAMARK_DNS_SOURCES": source})
    elif family.name == "gateway":
        for workload in ("Deployment", "DaemonSet"):
            yield f"gateway.{workload}", (family, {"SEAMARK_GATEWAY_WORKLOAD": workload})
    else:
        yield family.name, (family, {})


def _of(family: Family, variables: dict[str, str]) -> set[Grant]:
    with _environment({**HERE, **variables}):
        return {grant for controller in family.controllers() for grant in grants(controller)}


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Only these settings: what the one who runs this has set is none of the chart's business."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("SEAMARK_")]:
        del os.environ[name]
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _places(rights: Iterable[Grant]) -> dict[str, Any]:
    rights = set(rights)
    here = {grant for grant in rights if grant.namespace == NAMESPACE}
    assert all(grant.namespace in ("", NAMESPACE) for grant in rights), "a role in a namespace that is not ours"
    return {"everywhere": rules(rights - here), "here": rules(here)}


def _yaml(value: object) -> str:
    return yaml.safe_dump(value, sort_keys=True, width=120)


def main() -> None:
    (CHART / "generated").mkdir(exist_ok=True)
    for name, text in files().items():
        (CHART / name).write_text(text)


if __name__ == "__main__":
    main()
