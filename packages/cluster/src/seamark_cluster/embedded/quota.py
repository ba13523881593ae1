"""ResourceQuota: usage of a namespace, counted and limited as by the API server."""

from __future__ import annotations

from fractions import Fraction

from seamark_cluster.embedded.calls import Call
from seamark_cluster.embedded.machinery.errors import Json, forbidden
from seamark_cluster.embedded.machinery.revisions import Event, ObjectKey, Revisions
from seamark_runtime.quantity import Quantity, amount_of

QUOTAS = "resourcequotas"
_COUNTED = (
    "pods",
    "services",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "resourcequotas",
    "replicationcontrollers",
)

Usage = dict[str, Fraction]


def usage_of(resource: str, obj: Json) -> Usage:
    """The usage of one object."""
    group = resource.partition(".")[2]
    plural = resource.partition(".")[0]
    used: Usage = {f"count/{plural}.{group}" if group else f"count/{plural}": Fraction(1)}
    if resource in _COUNTED:
        used[resource] = Fraction(1)
    if resource == "services":
        ports = len(obj["spec"].get("ports") or ())
        kind = obj["spec"].get("type")
        used["services.nodeports"] = Fraction(ports if kind in ("NodePort", "LoadBalancer") else 0)
        used["services.loadbalancers"] = Fraction(kind == "LoadBalancer")
    if resource == "pods":
        if obj["status"].get("phase") in ("Succeeded", "Failed"):
            return {name: amount for name, amount in used.items() if name.startswith("count/")}
        used.update(_compute(obj["spec"]))
    return used


def _written(amount: Fraction) -> str:
    return str(Quantity(amount))


def _compute(spec: Json) -> Usage:
    used: Usage = {}
    for container in spec.get("containers") or ():
        for kind, amounts in (container.get("resources") or {}).items():
            if kind in ("requests", "limits"):
                for name, amount in amounts.items():
                    key = f"{kind}.{name}"
                    used[key] = used.get(key, Fraction(0)) + amount_of(amount)
    for name in ("cpu", "memory"):
        if f"requests.{name}" in used:
            used[name] = used[f"requests.{name}"]
    return used


class Quotas:
    """Refuses what would exceed a quota, and counts what was admitted.

    Decisions are made from each quota's status, as in the API server; `refresh` is what the quota controller does.
    """

    def __init__(self, revisions: Revisions) -> None:
        self._revisions = revisions

    def check(self, call: Call, new: Json, old: Json | None) -> None:
        if call.subresource or not call.namespace:
            return
        quotas = [(key, obj) for key, obj in self._revisions.objects(QUOTAS) if key[0] == call.namespace]
        if not quotas:
            return
        wanted = usage_of(call.kind.storage, new)
        if old is not None:
            before = usage_of(call.kind.storage, old)
            wanted = {name: amount - before.get(name, Fraction(0)) for name, amount in wanted.items()}
        for key, quota in quotas:
            more = {name: amount for name, amount in wanted.items() if amount > 0}
            self._check_quota(call, (key, new["metadata"].get("name", "")), quota, more)

    def _check_quota(self, call: Call, place: tuple[ObjectKey, str], quota: Json, wanted: Usage) -> None:
        key, name_of_new = place
        limits = quota["spec"].get("hard") or {}
        concerned = {name: amount for name, amount in wanted.items() if name in limits}
        if not concerned:
            return
        names, status = call.kind.names, quota["status"]
        unknown = sorted(name for name in concerned if name not in (status.get("used") or {}))
        if unknown or not status.get("hard"):
            why = f"status unknown for quota: {key[1]}, resources: {','.join(unknown or sorted(concerned))}"
            raise forbidden(names.group, names.plural, name_of_new, why)
        used = {name: amount_of(status["used"][name]) for name in concerned}
        hard = {name: amount_of(status["hard"][name]) for name in concerned}
        over = sorted(name for name, amount in concerned.items() if used[name] + amount > hard[name])
        if over:
            requested = ",".join(f"{name}={_written(concerned[name])}" for name in over)
            have = ",".join(f"{name}={_written(used[name])}" for name in over)
            most = ",".join(f"{name}={_written(hard[name])}" for name in over)
            why = f"exceeded quota: {key[1]}, requested: {requested}, used: {have}, limited: {most}"
            raise forbidden(names.group, names.plural, name_of_new, why)
        if not call.dry_run:
            total = {name: _written(used[name] + amount) for name, amount in concerned.items()}
            self._write(key, quota, {**status, "used": {**status["used"], **total}})

    def _write(self, key: ObjectKey, quota: Json, status: Json) -> None:
        if status != quota["status"]:
            self._revisions.write(QUOTAS, key, {**quota, "metadata": dict(quota["metadata"]), "status": status})

    # --- the quota controller

    def changed(self, event: Event) -> None:
        """Counts again when a quota changes, or an object of a namespace with quotas is deleted."""
        namespace = event.key[0]
        if event.resource == QUOTAS and event.new is not None:
            if event.old is None or event.old["spec"] != event.new["spec"]:
                self.refresh(event.key)
        elif event.new is None and namespace:
            for key, _ in list(self._revisions.objects(QUOTAS)):
                if key[0] == namespace:
                    self.refresh(key)

    def refresh(self, key: ObjectKey) -> None:
        quota = self._revisions.get(QUOTAS, key)
        if quota is None:
            return
        limits = quota["spec"].get("hard") or {}
        used = {name: Fraction(0) for name in limits}
        for resource in self._revisions.resources():
            for (namespace, _), obj in self._revisions.objects(resource):
                if namespace == key[0]:
                    for name, amount in usage_of(resource, obj).items():
                        if name in used:
                            used[name] += amount
        status = {"hard": limits, "used": {name: _written(amount) for name, amount in used.items()}}
        self._write(key, quota, status)
