"""Names that both sides of a run know: the tenants, and what a hostile tenant may well guess."""

from __future__ import annotations

CANARY, HOSTILE = "canary", "hostile"
CANARY_TLS, CANARY_WORDS = "canary-tls", "canary-words"  # names that a hostile tenant may well guess
CANARY_HOST = "shop.canary.example.com"
ZONE = "example.test"
