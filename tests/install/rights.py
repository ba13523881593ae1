"""What an account of an installation may do, as the cluster has it, and what it did, as the audit log has it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from seamark_cluster.real.audit import Entry
from seamark_runtime.rbac import Grant
from tests.install.helm import NAMESPACE, Site


def user(account: str) -> str:
    return f"system:serviceaccount:{NAMESPACE}:{account}"


def since(site: Site, account: str) -> list[Entry]:
    """Requests since the account was made: an account with the same name before may have lost its roles."""
    found = site.objects("serviceaccounts", "-n", NAMESPACE)
    (made,) = [one["metadata"]["creationTimestamp"] for one in found if one["metadata"]["name"] == account]
    return [entry for entry in site.machine.plane.audit.entries() if entry.received >= made]


def granted(site: Site, account: str) -> set[Grant]:
    """From every role that is bound to it."""
    return {grant for role in _bound(site, account) for rule in role["rules"] for grant in _grants(role, rule)}


def _bound(site: Site, account: str) -> Iterator[dict[str, Any]]:
    found = site.objects("roles,rolebindings,clusterroles,clusterrolebindings", "-A")
    roles = {(one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one for one in found}
    for one in found:
        subjects = [(subject["name"], subject.get("namespace")) for subject in one.get("subjects") or ()]
        if (account, NAMESPACE) in subjects:
            ref = one["roleRef"]
            yield roles[ref["kind"], one["metadata"].get("namespace", ""), ref["name"]]


def _grants(role: dict[str, Any], rule: dict[str, Any]) -> Iterator[Grant]:
    names = rule.get("resourceNames") or [""]
    for group, resource, verb, name in product(rule["apiGroups"], rule["resources"], rule["verbs"], names):
        yield Grant(group, resource, verb, role["metadata"].get("namespace", ""), name)
