"""Names for `seamark dev`: a zone in this process, which is answered on a real port."""

from __future__ import annotations

import os

ZONE = "example.test"
ADDRESS = "127.0.0.1:10053"
DEFAULTS = {"SEAMARK_DNS_ZONES": ZONE, "SEAMARK_DNS_MEMORY_ADDRESS": ADDRESS}


def give_names() -> str:
    """Has the DNS family serve a zone, unless somebody has set it up otherwise; says how to ask it."""
    if "SEAMARK_DNS_SETTINGS" in os.environ or "SEAMARK_DNS_PROVIDER" in os.environ:
        return ""
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    host, _, port = os.environ["SEAMARK_DNS_MEMORY_ADDRESS"].rpartition(":")
    zone = os.environ["SEAMARK_DNS_ZONES"].split(",", maxsplit=1)[0]
    return f"dig @{host} -p {port} www.{zone}"
