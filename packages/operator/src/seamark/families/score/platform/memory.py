"""The platform configuration in force: remembered, so that an invalid one never replaces a valid one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from seamark.api.score import PlatformConfig
from seamark.families.score.platform.configuration import (
    ENTRY,
    KEY,
    Config,
    ConfigError,
    built_in,
    last_good_key,
    parse,
)
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.view import View


@dataclass(frozen=True)
class InForce:
    """`config`: None while there was never a valid one. `trouble`: what is wrong with the one that users wrote."""

    config: Config | None = None
    trouble: str = ""
    version: str = ""  # of the ConfigMap that was parsed last


def following(before: InForce, key: Key, written: PlatformConfig | None, last_good: PlatformConfig | None) -> InForce:
    """The configuration in force after `before`, by the ConfigMap that users write and the copy of the last valid one.

    A ConfigMap is parsed once per version.
    """
    if written is None:
        return InForce(built_in())
    version, found = f"{written.uid}/{written.metadata.resource_version}", before
    if version != before.version:
        try:
            found = InForce(parse((written.data or {}).get(ENTRY, "")), version=version)
        except ConfigError as error:
            found = InForce(before.config, f"{ENTRY} of ConfigMap {key}: {error}", version)
    if found.config is None and last_good is not None:  # this process has seen no valid one; another has
        with suppress(ConfigError):
            found = replace(found, config=parse((last_good.data or {}).get(ENTRY, "")))
    return found


class ConfigurationMemory:
    """One value for all keys of the controllers that share it: the configuration is the same for all of them."""

    def __init__(self, key: Key = KEY) -> None:
        self.key = key
        self.in_force = InForce()

    def advance(self, view: View, subject: Any, _results: Results) -> None:
        if not subject.deleting:
            written, last_good = view.get(PlatformConfig, self.key), view.get(PlatformConfig, last_good_key(self.key))
            self.in_force = following(self.in_force, self.key, written, last_good)

    def forget(self, key: Key) -> None:
        """It belongs to no key."""
