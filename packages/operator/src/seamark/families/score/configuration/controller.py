"""ConfigMap → a copy of it while it is good, by which a restart does not lose it, and an event when it is not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seamark.api.score import PlatformConfig
from seamark.families.score.config import ENTRY, KEY, ConfigError, last_good_key, parse
from seamark_runtime.api.meta import Key, ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Wanted
from seamark_runtime.events import Notice
from seamark_runtime.scope import Scope
from seamark_runtime.status import NoStatus
from seamark_runtime.view import View

MANAGER = "score-orchestrator"
COPY = "last good"  # the role of the one child


@dataclass(frozen=True)
class Seen:
    """The configuration as it stands, what is wrong with it, and the copy of the last good one."""

    config: PlatformConfig
    trouble: str
    copy: PlatformConfig | None


def desire(seen: Seen) -> Wanted:
    metadata = seen.config.metadata
    data = dict(seen.config.data or {})
    if seen.trouble:
        if seen.copy is None:
            return Wanted()
        data = dict(seen.copy.data or {})
    key = last_good_key(Key(metadata.namespace, metadata.name))
    copy = PlatformConfig(
        metadata=ObjectMeta(name=key.name, namespace=key.namespace), data={ENTRY: data.get(ENTRY, "")}
    )
    return Wanted(children={COPY: copy})


def announce(seen: Seen, _answers: Answers) -> Iterable[Notice]:
    if not seen.trouble:
        return ()
    holds = "the last good one stays in force" if seen.copy is not None else "there is no good one yet"
    return (Notice("ConfigInvalid", f"{ENTRY}: {seen.trouble}; {holds}"),)


def judge(_seen: Seen, _answers: Answers) -> None:
    """A ConfigMap has no status."""


def controller(config_key: Key = KEY) -> Controller[Seen]:
    def observe(view: View, config: PlatformConfig, _results: Results) -> Seen | None:
        if config.key != config_key or config.deleting:
            return None
        copy = view.get(PlatformConfig, last_good_key(config_key))
        try:
            parse((config.data or {}).get(ENTRY, ""))
        except ConfigError as error:
            return Seen(config, str(error), copy)
        return Seen(config, "", copy)

    return Controller(
        name="score-configuration",
        manager=MANAGER,
        kind=PlatformConfig,
        children=(PlatformConfig,),
        scopes={PlatformConfig: Scope(config_key.namespace)},
        observe=observe,
        desire=desire,
        judge=judge,
        announce=announce,
        status=NoStatus(),
    )
