"""Documents as they are sent: JSON that no library would write, and YAML that grows when it is read."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Raw:
    """JSON text that is sent as it stands."""

    text: str


def nested(levels: int, opening: str = "[", closing: str = "]", core: str = "1") -> Raw:
    return Raw(opening * levels + core + closing * levels)


def bomb(levels: int = 9) -> str:
    """YAML in which each line names the one before it nine times: 9 to the power of `levels` strings."""
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    for number in range(1, levels):
        lines.append(f"a{number}: &a{number} [{','.join([f'*a{number - 1}'] * 9)}]")
    return "\n".join(lines)


def encoded(manifest: Any) -> bytes:
    """The JSON of a manifest that may have `Raw` parts, however deep they are."""
    parts: dict[str, str] = {}

    def placed(value: Any) -> Any:
        if isinstance(value, Raw):
            mark = f"raw-{secrets.token_hex(12)}"
            parts[json.dumps(mark)] = value.text
            return mark
        if isinstance(value, dict):
            return {key: placed(inner) for key, inner in value.items()}
        return [placed(inner) for inner in value] if isinstance(value, list) else value

    text = json.dumps(placed(manifest), ensure_ascii=False)
    for mark, raw in parts.items():
        text = text.replace(mark, raw)
    return text.encode("utf-8", "surrogatepass")
