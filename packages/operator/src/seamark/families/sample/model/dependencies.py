"""What the controllers of the family are built with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from seamark.families.sample.model.options import Options


@dataclass(frozen=True)
class Dependencies:
    options: Options
    perform: Callable[[Any], Awaitable[Any]]  # performs the action of a call (`remote`)
