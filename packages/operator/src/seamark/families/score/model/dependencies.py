"""What the kinds of the family are built with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from seamark.api.score import PlatformConfig
from seamark.families.score.model.options import Options
from seamark.families.score.model.ownership import PART_OF
from seamark.families.score.model.runtime import Rendered
from seamark.families.score.platform.memory import ConfigurationMemory
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.scope import Scope
from seamark_runtime.source import Collection


@dataclass(frozen=True)
class Dependencies:
    options: Options
    perform: Callable[[Any], Awaitable[Any]]
    configuration: ConfigurationMemory
    rendered: Collection[Key, Rendered]

    @property
    def scopes(self) -> Mapping[type[Object], Scope]:
        """The configuration is watched in its own namespace; of other ConfigMaps those that the family creates."""
        return {PlatformConfig: Scope(self.options.config_key.namespace), ConfigMap: Scope.labelled(PART_OF)}
