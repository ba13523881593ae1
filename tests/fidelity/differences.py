"""Two responses side by side: where they differ, as text."""

from __future__ import annotations

import json
from typing import Any

from tests.fidelity.masks import comparable
from tests.fidelity.sides import Reply


def differences(real: Any, store: Any, path: str = "") -> list[str]:
    if type(real) is not type(store):
        return [f"{path or '.'}: real={_short(real)} store={_short(store)}"]
    if isinstance(real, dict):
        found: list[str] = []
        for key in sorted(real.keys() | store.keys()):
            if key not in real:
                found.append(f"{path}.{key}: only in the store: {_short(store[key])}")
            elif key not in store:
                found.append(f"{path}.{key}: only in the real one: {_short(real[key])}")
            else:
                found += differences(real[key], store[key], f"{path}.{key}")
        return found
    if isinstance(real, list) and len(real) == len(store):
        pairs = enumerate(zip(real, store, strict=True))
        return [found for index, (item, other) in pairs for found in differences(item, other, f"{path}[{index}]")]
    return [] if real == store else [f"{path or '.'}: real={_short(real)} store={_short(store)}"]


def _short(value: Any) -> str:
    return json.dumps(value)[:400]


def compare(real: Reply, store: Reply) -> list[str]:
    found = [] if real.code == store.code else [f"code: real={real.code} store={store.code}"]
    found += differences(comparable(real.code, real.body), comparable(store.code, store.body))
    if real.code < 300 and bool(real.warnings) != bool(store.warnings):
        found.append(f"warnings: real={real.warnings} store={store.warnings}")
    return found
