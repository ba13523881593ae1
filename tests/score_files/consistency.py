"""Whether an expectation fits the Score files beside it: names, values, images. Valid folders only."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from tests.score_files.corpus import Case
from tests.score_files.forms import Container, Expect, Match, Request, ValueOf, Workload
from tests.score_files.images import Image, known
from tests.score_files.matching import chosen


def inconsistencies(case: Case, images: dict[str, Image]) -> Iterator[str]:
    """What an expectation names and its files do not have, as sentences."""
    for image in sorted(case.images()):
        if known(image, images) is None:
            yield f"{image} is not in images.md"
    for expect in case.expects:
        for name, workload in expect.workloads.items():
            yield from (f"{name}: {problem}" for problem in _workload(case, name, workload, images))
        yield from _requests(case, expect)
    for step in case.expectation.then:
        touched = step.restart or (step.delete and step.delete.workload) or (step.run and step.run.workload)
        if touched and touched not in case.workloads:
            yield f"step {step.step!r} names the unknown Workload {touched}"
        if step.run and step.run.container not in case.containers(step.run.workload):
            yield f"step {step.step!r} names the unknown container {step.run.container}"
    yield from _values(case)


def _workload(case: Case, name: str, expected: Workload, images: dict[str, Image]) -> Iterator[str]:
    if name not in case.workloads:
        yield "no file has this name"
        return
    documents = case.workloads[name]
    resources = {key for document in documents for key in document.get("resources") or {}}
    ports = {key for document in documents for key in (document.get("service") or {}).get("ports") or {}}
    containers = case.containers(name)
    yield from (f"claim {claim} is no resource" for claim in expected.claims if claim not in resources)
    yield from (f"port {port} is not in the file" for port in _ports(expected) if port not in ports)
    mentioned = {*expected.containers, *(part for order in expected.order for part in (order.first, order.then))}
    yield from (f"no container {container}" for container in mentioned if container not in containers)
    if expected.ready is False and expected.not_ready is None:
        yield "is not ready, and no condition says why"
    if expected.ready is True and expected.not_ready is not None:
        yield "is ready, and a condition says why it is not"
    for container, expectation in expected.containers.items():
        forms = containers.get(container, [])
        yield from (f"{container}: {problem}" for problem in _container(case, expectation, forms, images))


def _ports(expected: Workload) -> list[str]:
    return list(expected.service.ports) if expected.service else []


def _container(case: Case, expected: Container, forms: list[dict[str, Any]], images: dict[str, Image]) -> Iterator[str]:
    written = {form["image"] for form in forms}
    supplied = case.expectation.apply.image
    for reference in {supplied if image == "." else image for image in written}:
        image = known(reference or "", images)
        if image and not image.shell and (expected.files or expected.volumes or expected.run):
            yield f"{image.name} has no shell to look at files with"
        if image and not image.shows_environment and expected.env:
            yield f"{image.name} shows no environment"
    variables = {name for form in forms for name in form.get("variables") or {}}
    for name, value in expected.env.items():
        if name not in variables and not (isinstance(value, Match) and value.absent):
            yield f"no variable {name}"


# ---- requests


def _requests(case: Case, expect: Expect) -> Iterator[str]:
    for request in expect.requests:
        if sum(target is not None for target in (request.endpoint, request.service, request.host)) != 1:
            yield f"the request of {request.path} has not exactly one target"
        if (request.host is None) != (request.through is None):
            yield f"the request of {request.path} needs host and through together"
        for workload in (request.endpoint, request.through):
            if workload is not None and workload not in case.workloads:
                yield f"the request of {request.path} goes to the unknown Workload {workload}"
        if request.service is not None and request.service not in services(case):
            yield f"the request of {request.path} goes to {request.service}, which no file publishes"
        if isinstance(request.host, ValueOf):
            yield from _reference(case, request.host.value_of)
        yield from _answer(request)


def _answer(request: Request) -> Iterator[str]:
    if not request.path.startswith("/"):
        yield f"the path {request.path} does not begin with a slash"
    if request.body is not None and request.json:
        yield f"the answer of {request.path} is a text or JSON, not both"


def services(case: Case) -> set[str]:
    """name:port of every TCP port that the files publish."""
    found = set()
    for name, documents in case.workloads.items():
        for document in documents:
            annotations = document["metadata"].get("annotations") or {}
            service = annotations.get("k8s.score.dev/service-name", name)
            for port in ((document.get("service") or {}).get("ports") or {}).values():
                if port.get("protocol", "TCP") == "TCP":
                    found.add(f"{service}:{port['port']}")
    return found


# ---- values


def _values(case: Case) -> Iterator[str]:
    for match in matches(case.expectation):
        if len(form := chosen(match)) != 1:
            yield f"a value has the forms {sorted(form)}, not exactly one"
        for pattern in (match.matches, match.secret):
            if pattern is not None:
                try:
                    re.compile(pattern)
                except re.error as error:
                    yield f"{pattern!r} is no regular expression: {error}"
        for reference in (match.same_as, match.differs_from):
            if reference is not None:
                yield from _reference(case, reference)
    for expect in case.expects:
        for workload in expect.workloads.values():
            for container in workload.containers.values():
                yield from _file_values(container)


def _file_values(container: Container) -> Iterator[str]:
    for path, file in container.files.items():
        if not path.startswith("/"):
            yield f"the file {path} has no absolute path"
        if file.mode is not None and not re.fullmatch(r"0[0-7]{3}", file.mode):
            yield f"the mode {file.mode} of {path} is not of the form 0644"
        if file.content is not None and file.base64 is not None:
            yield f"{path} has content in two forms"
        if file.base64 is not None:
            try:
                base64.b64decode(file.base64, validate=True)
            except binascii.Error:
                yield f"{path} is no base64"


def _reference(case: Case, reference: str) -> Iterator[str]:
    workload, _, rest = reference.partition("/")
    container, _, variable = rest.partition("/")
    forms = case.containers(workload).get(container, [])
    if not any(variable in (form.get("variables") or {}) for form in forms):
        yield f"{reference} is no variable of the files"


def matches(node: Any) -> Iterator[Match]:
    """Every Match inside a form."""
    if isinstance(node, Match):
        yield node
    elif isinstance(node, msgspec.Struct):
        for name in node.__struct_fields__:
            yield from matches(getattr(node, name))
    elif isinstance(node, dict | tuple):
        for part in node.values() if isinstance(node, dict) else node:
            yield from matches(part)
