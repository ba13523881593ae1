"""A command's connection to a cluster: opened, checked and closed. A user's mistake is one line and exit code 2."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from seamark_runtime.api.core import Namespace
from seamark_runtime.api.meta import Resource
from seamark_runtime.client import explain
from seamark_runtime.connection import connect
from seamark_runtime.errors import Gone, Refused, Retry, UserError
from seamark_runtime.http import HttpTransport
from seamark_runtime.transport import HttpRequest, NoAnswerError, Transport
from seamark_runtime.untrusted.names import api_path

UP = "is it up, and the kubeconfig right?"
FORBIDDEN = 403
EXPIRED = "the token or certificate may have expired"
INSTALL = "install our kinds: seamark crds | kubectl apply --server-side -f -"
MAKE = "create it first"
ASK_FOR_ACCESS = "ask for the right, or choose another user with --context"


@asynccontextmanager
async def cluster(kubeconfig: str, context: str, *needed: Resource) -> AsyncIterator[HttpTransport]:
    """A connection for commands that end by themselves. `needed` kinds must be served, and readable."""
    transport = await HttpTransport(connect(kubeconfig, context)).open()
    try:
        await check_access(transport, *needed)
        yield transport
    except NoAnswerError as error:
        raise UserError(f"the API server does not answer: {error}", hint=UP) from None
    except Gone as error:
        if not error.name:
            raise UserError("this cluster does not have the kind", hint=INSTALL) from None
        raise UserError(error.message, hint=MAKE) from None
    except Refused as error:
        raise UserError(error.message, hint=ASK_FOR_ACCESS if error.code == FORBIDDEN else "") from None
    except Retry as error:
        raise UserError(error.message, hint=UP) from None
    finally:
        await transport.close()


async def check_access(transport: Transport, *needed: Resource) -> None:
    """One request, and one for each kind that is needed: a user without access gets an error at once."""
    try:
        answer = await transport.send(HttpRequest("GET", api_path("/version"), timeout=10))
    except NoAnswerError as error:
        raise UserError(f"the API server does not answer: {error}", hint=UP) from None
    if answer.status == 401:
        raise UserError("the API server rejected our credentials (401)", hint=EXPIRED)
    for kind in needed:
        answer = await transport.send(HttpRequest("GET", kind.path(), {"limit": "1"}, timeout=10))
        if answer.status == 404:
            raise UserError(f"this cluster has no {kind}", hint=INSTALL)
        if answer.status == 403:
            raise UserError(explain(answer).message, hint=ASK_FOR_ACCESS)


async def check_namespace(transport: Transport, namespace: str) -> None:
    """The operator's own namespace has its Lease: without it no replica could lead."""
    answer = await transport.send(HttpRequest("GET", Namespace.RESOURCE.path(name=namespace), timeout=10))
    if answer.status == 404:
        hint = f"kubectl create namespace {namespace}, or run with --no-leader-election"
        raise UserError(f"there is no namespace {namespace} for the operator's Lease", hint=hint)
