"""ID tokens of a kubeconfig's `auth-provider: oidc`: the one that is there while it is valid, otherwise a new one.

- A new one is requested from the issuer's token endpoint with the refresh token. Nothing is written back to the file.
- Answers are read with a limit, and what the issuer answered is not part of an error: it may be a secret.
"""

from __future__ import annotations

import base64
import binascii
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp

from seamark_runtime.kubeconfig import Entry, KubeconfigError
from seamark_runtime.untrusted.bodies import read_body
from seamark_runtime.untrusted.decoding import Malformed, decode_plain_json

LEEWAY = 10.0  # seconds that a token must still be valid
TIMEOUT = aiohttp.ClientTimeout(total=20)
LARGEST = 1 << 20


async def id_token(provider: Entry, now: Callable[[], float] = time.time) -> str:
    """The token to send, for the `config` of an auth-provider."""
    token = provider.text("id-token")
    if token and _expiry(token) > now() + LEEWAY:
        return token
    if not provider.text("refresh-token"):
        raise KubeconfigError("oidc: there is no valid id-token, and it cannot refresh without refresh-token")
    return await _refresh(provider)


def _expiry(token: str) -> float:
    """When the token expires; never, if it has no `exp`."""
    parts = token.split(".")
    if len(parts) != 3:
        raise KubeconfigError("oidc: id-token is not a JWT of three parts")
    try:
        claims = decode_plain_json(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, Malformed, ValueError):
        raise KubeconfigError("oidc: the claims of id-token can't be read") from None
    expires = claims.get("exp") if isinstance(claims, dict) else None
    return float(expires) if isinstance(expires, int | float) else float("inf")


async def _refresh(provider: Entry) -> str:
    issuer = provider.text("idp-issuer-url").rstrip("/")
    connector = aiohttp.TCPConnector(ssl=_tls(provider))
    try:
        async with aiohttp.ClientSession(connector=connector, timeout=TIMEOUT, trust_env=True) as session:
            async with session.get(f"{issuer}/.well-known/openid-configuration") as response:
                endpoint = (await _answer(response)).get("token_endpoint")
            if not isinstance(endpoint, str):
                raise KubeconfigError(f"oidc: {issuer} names no token_endpoint")
            form = {
                "grant_type": "refresh_token",
                "refresh_token": provider.text("refresh-token"),
                "client_id": provider.text("client-id"),
                "client_secret": provider.text("client-secret"),
            }
            async with session.post(endpoint, data=form) as response:
                token = (await _answer(response)).get("id_token")
    except (TimeoutError, aiohttp.ClientError, ValueError) as error:
        raise KubeconfigError(f"oidc: {issuer} can't be asked for a token ({type(error).__name__})") from None
    if not isinstance(token, str):
        raise KubeconfigError(f"oidc: {issuer} returned no id_token")
    return token


async def _answer(response: aiohttp.ClientResponse) -> Mapping[str, Any]:
    if response.status != 200:
        raise KubeconfigError(f"oidc: {response.url.host} answered with status {response.status}")
    try:
        answer = decode_plain_json(await read_body(response.content.iter_any(), LARGEST))
    except Malformed:
        answer = None
    if not isinstance(answer, dict):
        raise KubeconfigError(f"oidc: {response.url.host} did not answer with a JSON object")
    return answer


def _tls(provider: Entry) -> ssl.SSLContext:
    authority = provider.content("idp-certificate-authority")
    try:
        return ssl.create_default_context(cadata=authority or None)
    except ssl.SSLError:
        raise KubeconfigError("oidc: idp-certificate-authority is not a certificate") from None
