"""What a program with the official asynchronous client does, as a program of its own: python aio_client.py KUBECONFIG.

It prints the events that it saw. The client leaves the connection of a watch behind when it stops looking, which only
a program that ends can mend.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from typing import Any

# What these packages say of their own types would have every answer checked for None.
client: Any = importlib.import_module("kubernetes.aio.client")
config: Any = importlib.import_module("kubernetes.aio.config")
watch: Any = importlib.import_module("kubernetes.aio.watch")


async def main(kubeconfig: str) -> None:
    await config.load_kube_config(config_file=kubeconfig)
    async with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "aio"}, "data": {"a": "b"}}
        await core.create_namespaced_config_map("default", made)
        await core.patch_namespaced_config_map("aio", "default", {"data": {"a": "c"}})
        async with watch.Watch() as stream:
            wanted = {"field_selector": "metadata.name=aio", "timeout_seconds": 30}
            async for event in stream.stream(core.list_namespaced_config_map, "default", **wanted):
                sys.stdout.write(f"{event['type']} {event['object'].data}\n")
                if event["type"] != "ADDED":
                    break
                await core.delete_namespaced_config_map("aio", "default")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
