"""ConfigMap → a copy of it while it is valid, which survives a restart, and an event while it is not."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.api.score import PlatformConfig
from seamark.families.score.configuration.state import COPY, Seen
from seamark.families.score.platform.configuration import ENTRY, last_good_key
from seamark_runtime.api.meta import Key, ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted
from seamark_runtime.events import Notice


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
