"""The fake keeps to the contract, and so do our webhook client and server with it behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Provider
from seamark.providers.dns.webhook import WebhookProvider
from tests.unit.operator.providers.dns.contract import ZONE, ProviderContract
from tests.unit.operator.providers.dns.test_webhook_server import serving


class TestMemory(ProviderContract):
    @asynccontextmanager
    async def _made(self) -> AsyncIterator[Provider]:
        yield MemoryProvider((ZONE,))

    def provider(self) -> AbstractAsyncContextManager[Provider]:
        return self._made()


class TestWebhook(ProviderContract):
    @asynccontextmanager
    async def _made(self) -> AsyncIterator[Provider]:
        async with serving(MemoryProvider((ZONE,))) as url:
            provider = WebhookProvider(url, timeout=10.0)
            try:
                yield provider
            finally:
                await provider.close()

    def provider(self) -> AbstractAsyncContextManager[Provider]:
        return self._made()
