"""Authentication and authorization of users by the API server, cached for a minute.

- A user sends a Kubernetes token. A TokenReview identifies the user; SubjectAccessReviews decide what the user may
  read.
- One review is enough for a user who may list a kind in all namespaces; for others there is one per namespace.
- Only definite answers are cached. Without one (`Undecided`) nothing is shown, and the next request asks again.
- Reviews run a few at a time, and unknown tokens have a budget (`budget`): a client without a valid token costs next
  to nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from seamark.console.budget import Budget
from seamark_runtime.api.meta import Resource
from seamark_runtime.errors import Retry
from seamark_runtime.rbac import Grant
from seamark_runtime.transport import HttpRequest, NoAnswerError, Transport
from seamark_runtime.untrusted.decoding import Malformed, decode_plain_json
from seamark_runtime.untrusted.names import ApiPath, api_path

K = TypeVar("K")
V = TypeVar("V")

CACHE_SECONDS = 60.0
TIMEOUT = 10.0
MAX_CONCURRENT_REVIEWS = 4  # reviews in flight
MAX_ENTRIES = 50_000  # cached answers of each kind
MAX_TOKEN_LENGTH = 16 * 1024
TOKENS = api_path("/apis/authentication.k8s.io/v1/tokenreviews")
REVIEWS = api_path("/apis/authorization.k8s.io/v1/subjectaccessreviews")

GRANTS = {
    Grant("authentication.k8s.io", "tokenreviews", "create"),
    Grant("authorization.k8s.io", "subjectaccessreviews", "create"),
}


class Undecided(Retry):
    """The API server gave no definite answer."""


@dataclass(frozen=True)
class User:
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()


class Access:
    """Reviews are cached for `CACHE_SECONDS`: a revoked right is gone by then."""

    def __init__(self, transport: Transport, now: Callable[[], float], budget: Budget | None = None) -> None:
        self._transport = transport
        self._budget = budget or Budget(now)
        self._users: ExpiringCache[str, User | None] = ExpiringCache(now)
        self._rights: ExpiringCache[tuple[User, str, str, str], bool] = ExpiringCache(now)
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_REVIEWS)

    async def user(self, token: str, source: str | None = None) -> User | None:
        """The user of this token; None if it is not valid. `source` is charged for an unknown token."""
        if not token or len(token) > MAX_TOKEN_LENGTH or not token.isascii() or not token.isprintable():
            return None
        digest = hashlib.sha256(token.encode()).hexdigest()
        if (known := self._users.get(digest)) is not None:
            return known[0]
        if source is not None:
            self._budget.take(source)
        async with self._slots:
            [user] = self._users.get(digest) or self._users.put(digest, await self._authenticate(token))
        if source is not None and user is not None:
            self._budget.give_back(source)
        return user

    async def may_read(self, user: User, resource: Resource, namespace: str) -> bool:
        if await self._may(user, "list", resource, ""):
            return True
        return bool(namespace) and await self._may(user, "get", resource, namespace)

    async def readable(self, user: User, requested: set[tuple[Resource, str]]) -> set[tuple[Resource, str]]:
        """Which of these (kind, namespace) the person may read."""
        ordered = sorted(requested)
        answers = await asyncio.gather(*(self.may_read(user, *entry) for entry in ordered))
        return {entry for entry, allowed in zip(ordered, answers, strict=True) if allowed}

    async def _authenticate(self, token: str) -> User | None:
        spec = {"token": token}
        status = await self._review(TOKENS, "authentication.k8s.io/v1", "TokenReview", spec)
        if not status.get("authenticated"):
            return None
        user = status.get("user") or {}
        return User(user.get("username", ""), user.get("uid", ""), tuple(user.get("groups") or ()))

    async def _may(self, person: User, verb: str, resource: Resource, namespace: str) -> bool:
        question = (person, verb, str(resource), namespace)
        if (known := self._rights.get(question)) is not None:
            return known[0]
        attributes = {"verb": verb, "group": resource.group, "resource": resource.plural, "namespace": namespace}
        subject = {"user": person.name, "uid": person.uid, "groups": person.groups}
        async with self._slots:
            if (known := self._rights.get(question)) is None:
                spec = {**subject, "resourceAttributes": attributes}
                status = await self._review(REVIEWS, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
                known = self._rights.put(question, bool(status.get("allowed")))
        return known[0]

    async def _review(self, path: ApiPath, api_version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        body = msgspec.json.encode({"apiVersion": api_version, "kind": kind, "spec": spec})
        try:
            answer = await self._transport.send(HttpRequest("POST", path, body=body, timeout=TIMEOUT))
            review = decode_plain_json(answer.body) if answer.status in (200, 201) else None
        except (NoAnswerError, Malformed):
            review = None
        status = review.get("status") if isinstance(review, dict) else None
        if not isinstance(status, dict):
            raise Undecided(f"the API server gave no answer to a {kind}")
        return status


class ExpiringCache(Generic[K, V]):
    """Values that are valid for `CACHE_SECONDS`, at most `MAX_ENTRIES` of them; the oldest are evicted first."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._entries: OrderedDict[K, tuple[float, V]] = OrderedDict()  # in the order in which they expire

    def get(self, key: K) -> tuple[V] | None:
        found = self._entries.get(key)
        return None if found is None or found[0] < self._now() else (found[1],)

    def put(self, key: K, value: V) -> tuple[V]:
        now = self._now()
        self._entries.pop(key, None)
        self._entries[key] = (now + CACHE_SECONDS, value)
        while len(self._entries) > MAX_ENTRIES or next(iter(self._entries.values()))[0] < now:
            self._entries.popitem(last=False)
        return (value,)

    def __len__(self) -> int:
        return len(self._entries)
