"""Subresources other than status: scale, finalize, binding, eviction, tokens."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from seamark_cluster.embedded import bodies
from seamark_cluster.embedded.builtin.gotypes import MismatchError, normaliser
from seamark_cluster.embedded.builtin.validation.basics import NEGATIVE_MESSAGE
from seamark_cluster.embedded.builtin.validation.others import check_finalizer
from seamark_cluster.embedded.calls import Call, Path, User
from seamark_cluster.embedded.custom.kind import CustomKind
from seamark_cluster.embedded.deletes import Deletes, Options
from seamark_cluster.embedded.evictions import Evictions
from seamark_cluster.embedded.machinery.errors import (
    ApiError,
    Json,
    bad_request,
    conflict,
    invalid,
    invalid_object,
    not_allowed,
)
from seamark_cluster.embedded.machinery.revisions import Revisions
from seamark_cluster.embedded.machinery.selectors import from_selector
from seamark_cluster.embedded.patches import json_patch, merge_patch
from seamark_cluster.embedded.writes import STALE, Writes
from seamark_runtime.clock import timestamp

AUDIENCE = "https://kubernetes.default.svc"
MIN_SECONDS = 600  # seconds for which a token is valid
SPECIAL = ("scale", "finalize", "binding", "eviction", "token")


class Subresources:
    """Requests to a subresource whose kind differs from that of the object."""

    def __init__(
        self,
        revisions: Revisions,
        writes: Writes,
        deletes: Deletes,
        now: Callable[[], datetime],
        issue: Callable[[User], str],
    ) -> None:
        self._revisions = revisions
        self._writes = writes
        self._deletes = deletes
        self._now = now
        self._issue = issue
        self._evictions = Evictions(revisions, now)

    def handle(self, call: Call) -> tuple[Json, bool]:
        match call.subresource, call.verb:
            case "scale", "get" | "update" | "patch":
                return self._scale(call), False
            case "finalize", "update":
                return self._finalize(call), False
            case "binding", "create":
                return self._bind(call), True
            case "eviction", "create":
                return self._evict(call), True
            case "token", "create":
                return self._token(call), True
            case _:
                raise not_allowed()

    def _live(self, call: Call) -> Json:
        obj = self._writes.live(call)
        if obj is None:
            raise self._writes.missing(call)
        return obj

    # --- scale

    def _scale(self, call: Call) -> Json:
        obj = self._live(call)
        scale = _scale_of(call, obj)
        if call.verb == "get":
            return scale
        wanted = self._wanted_scale(call, scale)
        given = wanted["metadata"].get("resourceVersion")
        if given and given != obj["metadata"]["resourceVersion"]:
            raise conflict(call.kind.names.group, call.kind.names.plural, call.name, STALE)
        replicas = wanted["spec"].get("replicas", 0)
        if replicas < 0:
            error = invalid("spec.replicas", replicas, NEGATIVE_MESSAGE)
            raise invalid_object("autoscaling", "Scale", call.name, [error])
        changed: Json = {**obj, "metadata": dict(obj["metadata"])}
        path = _paths(call)[0]
        changed = _put(changed, path, replicas)
        main = Path(call.path.group, call.path.version, call.path.plural, call.path.namespace, call.path.name)
        inner = Call("update", call.kind, main, call.user, call.query, agent=call.agent)
        return _scale_of(call, self._writes.replace(inner, self._claimed_scale(call, obj, changed), obj))

    def _claimed_scale(self, call: Call, old: Json, new: Json) -> Json:
        """Zero replicas are stored as unset: no manager owns the field from then on."""
        path = _paths(call)[0].split(".")
        entries = old["metadata"].get("managedFields") or []
        if not any(_owns(entry, path) for entry in entries):
            return new
        if _at(new, _paths(call)[0]) or _at(old, _paths(call)[0]) == 0:
            return self._writes.claimed(call, old, new, None)
        left = [{**entry, "fieldsV1": _less(entry["fieldsV1"], path)} for entry in entries]
        new["metadata"]["managedFields"] = [entry for entry in left if entry["fieldsV1"]]
        return new

    @staticmethod
    def _wanted_scale(call: Call, scale: Json) -> Json:
        if call.verb == "update":
            body = bodies.decode(call.body, call.content_type)
        else:
            patch = bodies.decode(call.body, call.content_type)
            media = bodies.media_type(call)
            body = json_patch(scale, patch) if media == bodies.JSON_PATCH else merge_patch(scale, patch)
        if not isinstance(body, dict):
            raise bad_request("the scale is not an object")
        return _read("autoscaling/v1.Scale", body)

    # --- namespaces

    def _finalize(self, call: Call) -> Json:
        old = self._live(call)
        new = bodies.read(call, bodies.document(call))
        errors = [
            error
            for index, name in enumerate(new["spec"].get("finalizers") or ())
            for error in check_finalizer(f"spec.finalizers[{index}]", name)
        ]
        if errors:
            raise invalid_object("", "Namespace", call.name, errors)
        new = {**self._writes.claimed(call, old, new, None), "status": old["status"]}
        self._writes.keep_system_fields(new["metadata"], old["metadata"])
        new["metadata"]["uid"] = old["metadata"]["uid"]
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        key = ("", call.name)
        released = not new["spec"].get("finalizers") and not new["metadata"].get("finalizers")
        if old["metadata"].get("deletionTimestamp") and released:
            self._revisions.write("namespaces", key, None)
            return new
        return self._revisions.write("namespaces", key, new)

    # --- pods

    def _bind(self, call: Call) -> Json:
        target = (_object(call).get("target") or {}).get("name", "")
        if not target:
            raise ApiError(500, "", "target.name: Required value")
        pod = self._live(call)
        if pod["spec"].get("nodeName"):
            why = f"pod {call.name} is already assigned to node {quoted_name(pod['spec']['nodeName'])}"
            raise conflict("", "pods/binding", call.name, why)
        condition = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": timestamp(self._now()),
        }
        conditions = [item for item in pod["status"].get("conditions") or () if item["type"] != "PodScheduled"]
        changed = {
            **pod,
            "metadata": dict(pod["metadata"]),
            "spec": {**pod["spec"], "nodeName": target},
            "status": {**pod["status"], "conditions": [*conditions, condition]},
        }
        self._revisions.write("pods", (call.namespace, call.name), changed)
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}

    def _evict(self, call: Call) -> Json:
        pod = self._live(call)
        options = _object(call).get("deleteOptions") or {}
        self._evictions.allow(pod, dry_run=call.dry_run)
        grace = options.get("gracePeriodSeconds")
        self._deletes.remove(call, (call.namespace, call.name), Options(grace=grace, dry_run=call.dry_run))
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}

    # --- service accounts

    def _token(self, call: Call) -> Json:
        account = self._live(call)
        request = _read("authentication/v1.TokenRequest", bodies.decode(call.body, call.content_type))
        seconds = request["spec"].get("expirationSeconds") or 3600
        if seconds < MIN_SECONDS:
            message = "may not specify a duration less than 10 minutes"
            error = invalid("spec.expirationSeconds", seconds, message)
            raise invalid_object("authentication.k8s.io", "TokenRequest", "", [error])
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{call.namespace}")
        user = User(f"system:serviceaccount:{call.namespace}:{call.name}", groups, account["metadata"]["uid"])
        request["apiVersion"], request["kind"] = "authentication.k8s.io/v1", "TokenRequest"
        request["spec"]["expirationSeconds"] = seconds
        request["spec"]["audiences"] = request["spec"].get("audiences") or [AUDIENCE]
        request["metadata"] = {
            "name": call.name,
            "namespace": call.namespace,
            "uid": account["metadata"]["uid"],
            "creationTimestamp": timestamp(self._now()),
        }
        request["status"] = {
            "token": self._issue(user),
            "expirationTimestamp": timestamp(self._now() + timedelta(seconds=seconds)),
        }
        return request


def _object(call: Call) -> Json:
    found = bodies.decode(call.body, call.content_type)
    if not isinstance(found, dict):
        raise bad_request("the object provided is unrecognized: it must be an object")
    return found


def _read(struct: str, body: Json) -> Json:
    kind = struct.rpartition(".")[2]
    try:
        obj: Json = normaliser(struct)(body, [])
    except MismatchError as error:
        raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {error.message()}') from None
    return obj


def _owns(entry: Json, path: list[str]) -> bool:
    fields: Any = entry.get("fieldsV1") or {}
    for name in path:
        fields = fields.get(f"f:{name}") if isinstance(fields, dict) else None
    return fields is not None


def _less(fields: Json, path: list[str]) -> Json:
    """Field paths without the given one, and without parents that become empty."""
    name, rest = f"f:{path[0]}", path[1:]
    if name not in fields:
        return fields
    inner = _less(fields[name], rest) if rest else {}
    kept = {key: value for key, value in fields.items() if key != name}
    return {**kept, name: inner} if inner else kept


def quoted_name(name: str) -> str:
    return f'"{name}"'


def _paths(call: Call) -> tuple[str, str, str]:
    """Where a kind has its replicas: the desired and current number, and the selector."""
    if isinstance(call.kind, CustomKind):
        scale = call.kind.scale
        return (
            scale.get("specReplicasPath", "").lstrip("."),
            scale.get("statusReplicasPath", "").lstrip("."),
            scale.get("labelSelectorPath", "").lstrip("."),
        )
    return "spec.replicas", "status.replicas", ""


def _at(obj: Json, path: str) -> Any:
    value: Any = obj
    for name in path.split(".") if path else ():
        value = value.get(name) if isinstance(value, dict) else None
    return value if path else None


def _put(obj: Json, path: str, value: Any) -> Json:
    name, _, rest = path.partition(".")
    if not rest:
        return {**obj, name: value}
    return {**obj, name: _put(obj.get(name) or {}, rest, value)}


def _scale_of(call: Call, obj: Json) -> Json:
    wanted, counted, selector_path = _paths(call)
    meta = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    spec = {"replicas": _at(obj, wanted)} if _at(obj, wanted) else {}
    status: Json = {"replicas": _at(obj, counted) or 0}
    selector = _at(obj, selector_path)
    if not selector_path:
        clauses = from_selector(obj["spec"].get("selector"))
        selector = ",".join(f"{clause.key}={clause.values[0]}" for clause in clauses if clause.operator == "In")
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in kept if key in meta},
        "spec": spec,
        "status": status,
    }
