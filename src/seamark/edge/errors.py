"""Refusals in the shape that the callers read: a code, an HTTP status, words. Codes follow the public ones."""

from __future__ import annotations

from seamark.core.errors import SeamarkError


class Refusal(SeamarkError):
    """A request that the edge understood and refuses. `code` is the number behind ERR_NGROK_."""

    def __init__(self, code: int, message: str, *, status: int = 400, after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.after = after

    @property
    def name(self) -> str:
        return f"ERR_NGROK_{self.code}"

    @property
    def rpc(self) -> str:
        """As agents read it: the words, then the code on a line of its own."""
        return f"{self.message}\n\n{self.name}\n"


def bad_token() -> Refusal:
    return Refusal(107, "authentication failed: the authtoken is not valid here, or was revoked", status=401)


def over_limit(code: int, what: str, limit: int) -> Refusal:
    return Refusal(code, f"this authtoken is limited to {limit} {what} at once", status=429)


def already_online(url: str) -> Refusal:
    return Refusal(
        334,
        f"the endpoint '{url}' is already online: stop it first, or enable pooling on both to share the address",
        status=409,
    )


def not_found(what: str, ident: str) -> Refusal:
    return Refusal(404, f"{what} {ident!r} is not here", status=404)


def invalid(message: str) -> Refusal:
    return Refusal(400, message, status=400)


def offline(url: str) -> Refusal:
    return Refusal(3200, f"the endpoint {url} is offline", status=404)
