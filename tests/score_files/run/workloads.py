"""Whether a Workload is as expected: its conditions, its endpoint, its claims, what Kubernetes runs of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from tests.score_files.forms import Endpoint, Match, NotReady, Service, Workload
from tests.score_files.matching import Known, is_named, text_differs
from tests.score_files.run.containers import container_differs, order_differs
from tests.score_files.run.found import Found

OTHERS = {"Deployment": "StatefulSet", "StatefulSet": "Deployment"}


async def workload_differs(
    found: Found, name: str, expected: Workload, before: Mapping[str, str | None]
) -> AsyncIterator[str]:
    if found.get("Workload", name) is None:
        yield "there is no such Workload"
        return
    for problem in _of_status(found, name, expected, before):
        yield problem
    if expected.kind and not found.get(expected.kind, name):
        yield f"there is no {expected.kind}"
    if expected.kind and found.get(OTHERS[expected.kind], name):
        yield f"there is a {OTHERS[expected.kind]}, too"
    if expected.service is not None:
        for problem in service_differs(found, name, expected.service):
            yield problem
    pod_annotations = expected.pod.annotations if expected.pod is not None else {}
    for pod in found.pods(name):
        for problem in annotations_differ("Pod", pod_annotations, pod):
            yield problem
    for problem in order_differs(expected.order, found.pod(name)):
        yield problem
    for container, wanted in expected.containers.items():
        async for problem in container_differs(found, name, container, wanted):
            yield problem


def _of_status(found: Found, name: str, expected: Workload, before: Mapping[str, str | None]) -> Iterator[str]:
    ready = found.ready(name)
    if expected.ready is True and not ready:
        yield f"it is not Ready: {found.messages(name)[:400]}"
    if expected.ready is False and ready:
        yield "it is Ready"
    if expected.not_ready is not None:
        yield from not_ready_differs(found, name, expected.not_ready)
    if expected.endpoint is not None:
        yield from endpoint_differs(found, name, expected.endpoint, before.get(name))
    claims = {claim["key"]: claim for claim in (found.get("Workload", name) or {}).get("status", {}).get("claims", ())}
    for key, phase in expected.claims.items():
        if phase == "none" and key in claims:
            yield f"there is a claim {key}"
        elif phase != "none" and claims.get(key, {}).get("phase") != phase:
            yield f"the claim {key} is {claims.get(key)}"


def not_ready_differs(found: Found, name: str, expected: NotReady) -> Iterator[str]:
    condition = found.condition(name, expected.condition)
    if condition is None:
        yield f"there is no condition {expected.condition}"
        return
    message = condition.get("message", "")
    if condition["status"] == "True":
        yield f"{expected.condition} is True"
    if expected.path and not is_named(expected.path, message):
        yield f"{expected.condition} does not name {'.'.join(map(str, expected.path))}: {message[:300]}"
    for mention in expected.mentions:
        if mention.lower() not in message.lower():
            yield f"{expected.condition} does not mention {mention}: {message[:300]}"


def endpoint_differs(found: Found, name: str, expected: Endpoint | str, before: str | None) -> Iterator[str]:
    url = found.endpoint(name)
    if isinstance(expected, str):
        if url is not None:
            yield f"expected no endpoint, found {url}"
        return
    if url is None:
        yield "there is no endpoint"
        return
    exposures = ((found.get("WorkloadExposure", name) or {}).get("status") or {}).get("exposures") or ()
    entry: dict[str, Any] = next((each for each in exposures if each["url"] == url), {})
    if entry.get("scope") != expected.scope:
        yield f"endpoint {url}: expected the scope {expected.scope}, found {entry.get('scope')}"
    if entry.get("schemeHint") not in expected.scheme:
        yield f"endpoint {url}: expected a scheme of {', '.join(expected.scheme)}, found {entry.get('schemeHint')}"
    parts = urlsplit(url)
    if expected.host is not None and (differs := text_differs(expected.host, parts.hostname, Known(found.variables))):
        yield f"endpoint {url}: host: {differs}"
    if expected.path is not None and (parts.path or "/") != expected.path:
        yield f"endpoint {url}: expected the path {expected.path}"
    if expected.unchanged and url != before:
        yield f"endpoint {url}: expected that of before, {before}"


def service_differs(found: Found, name: str, expected: Service) -> Iterator[str]:
    service = found.get("Service", expected.name or name)
    if service is None:
        yield f"there is no Service {expected.name or name}"
        return
    ports = {port.get("name"): port for port in service["spec"].get("ports") or ()}
    for port_name, wanted in expected.ports.items():
        own = ports.get(port_name)
        given = None if own is None else (own["port"], own.get("targetPort"), own.get("protocol", "TCP"))
        if given != (wanted.port, wanted.target_port, wanted.protocol):
            yield f"Service: port {port_name}: expected {wanted}, found {given}"
    yield from annotations_differ("Service", expected.annotations, service)


def annotations_differ(kind: str, expected: Mapping[str, str], found: Mapping[str, Any]) -> Iterator[str]:
    own = found["metadata"].get("annotations") or {}
    for name, value in expected.items():
        if own.get(name) != value:
            yield f"{kind}: annotation {name}: expected {value!r}, found {own.get(name)!r}"


def waits_for_the_other(expected: Workload) -> bool:
    """Whether something of it is expected to be false or absent, and could still become true."""
    absent = any(isinstance(text, Match) and text.absent for each in expected.containers.values() for text in each.env)
    return expected.ready is False or expected.endpoint == "none" or "none" in expected.claims.values() or absent
