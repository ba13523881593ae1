"""Real name servers keep to the contract of providers, directly and behind our webhook server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from seamark.providers.dns.model import Provider
from seamark.providers.dns.rfc2136 import Rfc2136Provider
from seamark.providers.dns.webhook import WebhookProvider
from seamark.providers.dns.webhook_server import WebhookServer
from tests.dns.servers import NameServer
from tests.dns.test_webhook import serving
from tests.unit.operator.providers.dns.contract import ZONE, ProviderContract


class OnNameServer(ProviderContract):
    @pytest.fixture(autouse=True)
    def _with(self, name_server: NameServer) -> None:
        self.updated = Rfc2136Provider(name_server.server(), (ZONE,))


class TestNameServer(OnNameServer):
    @asynccontextmanager
    async def _made(self) -> AsyncIterator[Provider]:
        yield self.updated

    def provider(self) -> AbstractAsyncContextManager[Provider]:
        return self._made()


class TestNameServerBehindAWebhook(OnNameServer):
    @asynccontextmanager
    async def _made(self) -> AsyncIterator[Provider]:
        async with serving(WebhookServer(self.updated).app) as url:
            provider = WebhookProvider(url, timeout=10.0)
            try:
                yield provider
            finally:
                await provider.close()

    def provider(self) -> AbstractAsyncContextManager[Provider]:
        return self._made()
