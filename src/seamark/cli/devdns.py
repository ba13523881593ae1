"""Names for `seamark dev`: a zone in this process, which is answered on a real port."""

from __future__ import annotations

import os

from seamark.cluster.real.ports import free

ZONES, ADDRESS = "SEAMARK_DNS_ZONES", "SEAMARK_DNS_MEMORY_ADDRESS"
ZONE = "example.test"
HOST, PORTS = "127.0.0.1", range(10053, 10153)  # the first that is free


def give_names() -> str:
    """Has the DNS family serve a zone, unless somebody has set it up otherwise; says how to ask it."""
    if "SEAMARK_DNS_SETTINGS" in os.environ or "SEAMARK_DNS_PROVIDER" in os.environ:
        return ""
    os.environ.setdefault(ZONES, ZONE)
    if ADDRESS not in os.environ:
        chosen = next((port for port in PORTS if free(HOST, port)), PORTS[0])
        os.environ[ADDRESS] = f"{HOST}:{chosen}"
    host, _, port = os.environ[ADDRESS].rpartition(":")
    zone = os.environ[ZONES].split(",", maxsplit=1)[0]
    return f"dig @{host} -p {port} www.{zone}"
