"""Refusals in the shape that the callers read: a code, an HTTP status, words. Codes follow the public ones."""

from __future__ import annotations

from seamark_edge.model import STORE_AWAY, UNFINISHED
from seamark_edge.store.database import DatabaseAway
from seamark_runtime.errors import SeamarkError

AWAY = "the database of this edge is away: nothing new can be reserved"


class Refusal(SeamarkError):
    """A request that the edge understood and refuses. `code` is the number behind ERR_NGROK_.

    `after`: the seconds until it may be tried again. `owner`: the one owner within the token or key that has to wait.
    """

    def __init__(
        self, code: int, message: str, *, status: int = 400, after: float | None = None, owner: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.after = after
        self.owner = owner

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


def over_share(message: str, owner: str, after: float) -> Refusal:
    """The message has no time in it: it is shown in a status, and stays the same between retries."""
    return Refusal(429, message, status=429, after=after, owner=owner)


def already_online(url: str) -> Refusal:
    return Refusal(
        334,
        f"the endpoint '{url}' is already online: stop it first, or enable pooling on both to share the address",
        status=409,
    )


def in_use(url: str) -> Refusal:
    return Refusal(
        334,
        f"the endpoint '{url}' is already online: its address is in use by another agent, choose another one",
        status=409,
    )


def own_name(host: str) -> Refusal:
    return Refusal(
        320, f"{host} is kept by the edge for itself: CNAME targets, and the wildcard of its own domain", status=403
    )


def not_found(what: str, ident: str) -> Refusal:
    return Refusal(404, f"{what} {ident!r} is not here", status=404)


def invalid(message: str) -> Refusal:
    return Refusal(400, message, status=400)


def request_incomplete(seconds: float) -> Refusal:
    """Nothing was done: work begins when the body is complete."""
    return Refusal(408, f"the request did not arrive within {seconds:g} s (request_seconds)", status=408)


def request_unfinished(seconds: float) -> Refusal:
    """What the request asked for may have been done."""
    return Refusal(UNFINISHED, f"the request was not answered within {seconds:g} s (request_seconds)", status=503)


def store_away(error: DatabaseAway) -> Refusal:
    """The reason is the operator's and not for tenants: the log and the metrics have it."""
    code = UNFINISHED if error.uncertain else STORE_AWAY
    return Refusal(code, AWAY, status=503, after=2.0)


def no_address_free() -> Refusal:
    """A refusal and no outage: it ends when an address is given back, or the range grows."""
    return Refusal(9445, "no address of this edge's range is free: release addresses, or extend tcp_ports of the edge")


def offline(url: str) -> Refusal:
    return Refusal(3200, f"the endpoint {url} is offline", status=404)
