"""Who is asking, and what may they see: answered by the API server, remembered for a minute.

- A person shows their Kubernetes token. A TokenReview says who they are; SubjectAccessReviews say what they may read.
- Whoever may list a kind everywhere is asked about once; others are asked about namespace by namespace.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from seamark.api.meta import Resource
from seamark.core.rbac import Grant
from seamark.core.transport import Request, Transport

REMEMBERED = 60.0
TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

GRANTS = {
    Grant("authentication.k8s.io", "tokenreviews", "create"),
    Grant("authorization.k8s.io", "subjectaccessreviews", "create"),
}


@dataclass(frozen=True)
class Person:
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()


@dataclass
class Access:
    """Answers are kept for `REMEMBERED` seconds: a right that is withdrawn is gone by then."""

    transport: Transport
    now: Callable[[], float]
    _people: dict[str, tuple[float, Person | None]] = field(default_factory=dict)
    _rights: dict[tuple[Person, str, str, str], tuple[float, bool]] = field(default_factory=dict)

    async def person(self, token: str) -> Person | None:
        """Whose token this is; None for nobody's."""
        mark = hashlib.sha256(token.encode()).hexdigest()
        known = self._people.get(mark)
        if known is None or known[0] < self.now():
            self._forget()
            self._people[mark] = known = (self.now() + REMEMBERED, await self._whose(token))
        return known[1]

    async def may_read(self, person: Person, resource: Resource, namespace: str) -> bool:
        if await self._may(person, "list", resource, ""):
            return True
        return bool(namespace) and await self._may(person, "get", resource, namespace)

    async def readable(self, person: Person, wanted: set[tuple[Resource, str]]) -> set[tuple[Resource, str]]:
        """Which of these (kind, namespace) the person may read."""
        places = sorted(wanted)
        answers = await asyncio.gather(*(self.may_read(person, *place) for place in places))
        return {place for place, allowed in zip(places, answers, strict=True) if allowed}

    async def _whose(self, token: str) -> Person | None:
        spec = {"token": token}
        status = await self._review(TOKENS, "authentication.k8s.io/v1", "TokenReview", spec)
        if not status.get("authenticated"):
            return None
        user = status.get("user") or {}
        return Person(user.get("username", ""), user.get("uid", ""), tuple(user.get("groups") or ()))

    async def _may(self, person: Person, verb: str, resource: Resource, namespace: str) -> bool:
        at = (person, verb, str(resource), namespace)
        known = self._rights.get(at)
        if known is None or known[0] < self.now():
            attributes = {"verb": verb, "group": resource.group, "resource": resource.plural, "namespace": namespace}
            spec = {"user": person.name, "uid": person.uid, "groups": person.groups, "resourceAttributes": attributes}
            status = await self._review(REVIEWS, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
            self._rights[at] = known = (self.now() + REMEMBERED, bool(status.get("allowed")))
        return known[1]

    async def _review(self, path: str, api_version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        body = msgspec.json.encode({"apiVersion": api_version, "kind": kind, "spec": spec})
        answer = await self.transport.send(Request("POST", path, body=body))
        if answer.status not in (200, 201):
            return {}
        status: dict[str, Any] = msgspec.json.decode(answer.body).get("status") or {}
        return status

    def _forget(self) -> None:
        now = self.now()
        self._people = {mark: known for mark, known in self._people.items() if known[0] >= now}
        self._rights = {at: known for at, known in self._rights.items() if known[0] >= now}
