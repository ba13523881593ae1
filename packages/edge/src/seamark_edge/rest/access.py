"""API keys and agents' credentials."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from seamark_edge.edge.credentials import KEY, TOKEN
from seamark_edge.edge.errors import invalid
from seamark_edge.rest.base import MAX_LIST, Body, Resource, read, set_fields
from seamark_edge.store.record import Record

MAX_RULE = 300
Count = Annotated[int, Meta(ge=0, le=1_000_000)]


class KeyBody(Body, frozen=True, kw_only=True):
    rights: str | None = None  # "all", or "read"; ours, the cloud has no such field
    owner_id: str | None = None


class ApiKeys(Resource):
    """Keys of API callers. The key itself is in the answer to its creation and nowhere else."""

    path, key, kind, prefix, what = "/api_keys", "keys", KEY, "ak", "API key"

    async def create(self, raw: Any) -> dict[str, Any]:
        body = read(raw, KeyBody)
        if body.rights not in (None, "all", "read"):
            raise invalid("rights are 'all' or 'read'")
        record, secret = await self.office.credentials.make(KEY, {"rights": "all", **set_fields(body)})
        return {**self.view(record.id), "token": secret}

    def show(self, record: Record) -> dict[str, Any]:
        return {"token": None, "owner_id": "", **record.body}


class CredentialBody(Body, frozen=True, kw_only=True):
    acl: list[str] | None = None
    owner_id: str | None = None
    max_sessions: Count | None = None  # ours: limits of this token
    max_endpoints: Count | None = None


class CredentialsResource(Resource):
    """Authtokens of agents, with their ACL and limits. Deleting one ends its sessions."""

    path, key, kind, prefix, what = "/credentials", "credentials", TOKEN, "cr", "credential"

    async def create(self, raw: Any) -> dict[str, Any]:
        record, secret = await self.office.credentials.make(TOKEN, self._checked(raw))
        return {**self.view(record.id), "token": secret}

    async def update(self, ident: str, raw: Any) -> dict[str, Any]:
        await self.store.put(self.record(ident).changed(**self._checked(raw)))
        return self.view(ident)

    async def delete(self, ident: str) -> None:
        await super().delete(ident)
        self.office.sessions.revoke(ident)

    def show(self, record: Record) -> dict[str, Any]:
        return {"token": None, "acl": [], "owner_id": "", **record.body}

    def _checked(self, raw: Any) -> dict[str, Any]:
        body = read(raw, CredentialBody)
        if len(body.acl or ()) > MAX_LIST:
            raise invalid(f"acl has more than {MAX_LIST} rules")
        for rule in body.acl or ():
            if not rule.startswith("bind:") or len(rule) > MAX_RULE:
                raise invalid(f"{rule[:100]!r} is no ACL rule: those start with 'bind:', {MAX_RULE} characters at most")
        return set_fields(body)
