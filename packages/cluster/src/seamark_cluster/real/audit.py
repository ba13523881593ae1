"""The API server's audit log, read back so that tests can count requests."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from seamark_runtime.errors import SeamarkError

# Every request leaves a line with user, verb, object and response code, and no body. It is written at the response;
# for a watch, which is answered for as long as it lasts, also at its start.
POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
"""
POLL = 0.02
DECISION = "authorization.k8s.io/decision"


class _User(msgspec.Struct, frozen=True):
    username: str = ""


class _Ref(msgspec.Struct, frozen=True, rename="camel"):
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    api_group: str = ""


class _Status(msgspec.Struct, frozen=True):
    code: int = 0


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    audit_id: str = msgspec.field(name="auditID")
    stage: str
    verb: str
    request_uri: str = msgspec.field(name="requestURI")
    user: _User = _User()
    user_agent: str = ""
    object_ref: _Ref = _Ref()
    response_status: _Status = _Status()
    annotations: dict[str, str] = {}
    request_received_timestamp: str = ""
    stage_timestamp: str = ""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One request, however many lines the log has about it."""

    user: str
    verb: str
    resource: str
    subresource: str
    group: str
    namespace: str
    name: str
    code: int
    allowed: bool = True  # by RBAC: a request refused for another reason is allowed
    uri: str
    agent: str
    received: str
    finished: bool


class AuditLog:
    """The audit log of a control plane.

    - Counts requests, not lines: a watch that began and ended is one.
    - Responses of ordinary size are logged before the client has them, so a client with its response can count its
      request. Beyond some 4 kB a response may overtake its line: use `wait_for`.
    - An incomplete line is left for the next read.
    - `mark` is a position in the log; reads since a mark leave out what came before it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._decoder = msgspec.json.Decoder(_Event)

    def mark(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def entries(self, since: int = 0) -> list[Entry]:
        """Requests in the order in which the log first has them."""
        found: dict[str, Entry] = {}
        for event in self._events(since):
            found[event.audit_id] = _entry(event)  # the later line has the outcome; the position stays
        return list(found.values())

    def count(
        self,
        since: int = 0,
        *,
        user: str | None = None,
        verb: str | None = None,
        resource: str | None = None,
        subresource: str | None = None,
    ) -> int:
        """How many requests match; an argument that is not given matches all. An empty subresource means the object
        itself.
        """
        wanted = {"user": user, "verb": verb, "resource": resource, "subresource": subresource}
        given = {field: value for field, value in wanted.items() if value is not None}
        return sum(all(getattr(entry, f) == v for f, v in given.items()) for entry in self.entries(since))

    def tally(self, since: int = 0, user: str | None = None) -> Counter[tuple[str, str, str, str]]:
        """Requests by (user, verb, resource, subresource)."""
        entries = (entry for entry in self.entries(since) if user is None or entry.user == user)
        return Counter((entry.user, entry.verb, entry.resource, entry.subresource) for entry in entries)

    def wait_for(self, condition: Callable[[list[Entry]], bool], since: int = 0, seconds: float = 5.0) -> list[Entry]:
        """Reads until the entries satisfy the condition."""
        deadline = time.monotonic() + seconds
        while not condition(entries := self.entries(since)):
            if time.monotonic() > deadline:
                raise SeamarkError(
                    f"the audit log did not satisfy the condition within {seconds:g} s; it has {len(entries)} entries"
                )
            time.sleep(POLL)
        return entries

    def _events(self, since: int) -> Iterator[_Event]:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(since)
            for line in file:
                if line.endswith(b"\n"):
                    yield self._decoder.decode(line)


def _entry(event: _Event) -> Entry:
    ref = event.object_ref
    return Entry(
        user=event.user.username,
        verb=event.verb,
        resource=ref.resource,
        subresource=ref.subresource,
        group=ref.api_group,
        namespace=ref.namespace,
        name=ref.name,
        code=event.response_status.code,
        allowed=event.annotations.get(DECISION) != "forbid",
        uri=event.request_uri,
        agent=event.user_agent,
        received=event.request_received_timestamp,
        finished=event.stage in ("ResponseComplete", "Panic"),
    )
