"""The controller of the platform configuration: what it observes, and its declaration."""

from __future__ import annotations

from functools import partial

from seamark.api.score import PlatformConfig
from seamark.families.score.configuration.reconcile import announce, desire, judge
from seamark.families.score.configuration.state import Seen
from seamark.families.score.model.dependencies import Dependencies
from seamark.families.score.platform.configuration import ENTRY, ConfigError, last_good_key, parse
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, Writes
from seamark_runtime.scope import Scope
from seamark_runtime.status import NoStatus
from seamark_runtime.view import View

MANAGER = "score-orchestrator"


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    key = dependencies.options.config_key
    return (
        Controller(
            name="score-configuration",
            kind=PlatformConfig,
            observe=partial(observe, key),
            desire=desire,
            judge=judge,
            announce=announce,
            status=NoStatus(),
            reads=Reads(scopes={PlatformConfig: Scope(key.namespace)}),
            writes=Writes(manager=MANAGER, children=(PlatformConfig,)),
        ),
    )


def observe(key: Key, view: View, config: PlatformConfig, _results: Results) -> Seen | None:
    if config.key != key or config.deleting:
        return None
    copy = view.get(PlatformConfig, last_good_key(key))
    try:
        parse((config.data or {}).get(ENTRY, ""))
    except ConfigError as error:
        return Seen(config, str(error), copy)
    return Seen(config, "", copy)
