"""The first word with an API server."""

from __future__ import annotations

from seamark.core.errors import UserError
from seamark.core.http import HttpTransport
from seamark.core.transport import NoAnswerError, Request


async def greet(transport: HttpTransport) -> None:
    """One question, so that what a person can mend is told at once and in one line."""
    try:
        answer = await transport.send(Request("GET", "/version", timeout=10))
    except NoAnswerError as error:
        raise UserError(
            f"the API server does not answer: {error}", hint="is it up, and the kubeconfig right?"
        ) from None
    if answer.status == 401:
        raise UserError("the API server does not know us (401)", hint="the token or certificate may have expired")
