"""The keeper of the configuration (docs/spec/score/claims.md, rule 8)."""

from __future__ import annotations

from seamark.api.score import PlatformConfig
from seamark.families.score.configuration.reconcile import announce, desire
from seamark.families.score.configuration.state import COPY, Seen
from seamark.families.score.platform.configuration import ENTRY, KEY, last_good_key, parse
from seamark.families.score.platform.memory import InForce, following
from seamark_runtime.api.meta import ObjectMeta
from seamark_runtime.apply import Answers

NOTHING = Answers({}, {})
GOOD = "spec: {profiles: [{name: web, backends: [{backendId: a, runtimeClass: ecs}]}]}"
BAD = "spec: {profiles: []}"


def config(text: str, version: str = "1") -> PlatformConfig:
    metadata = ObjectMeta(name=KEY.name, namespace=KEY.namespace, uid="u", resource_version=version)
    return PlatformConfig(metadata=metadata, data={ENTRY: text})


def kept(seen: Seen) -> str:
    children = desire(seen).children
    if COPY not in children:
        return ""
    copy = children[COPY]
    assert isinstance(copy, PlatformConfig)
    assert copy.key == last_good_key(KEY)
    return (copy.data or {})[ENTRY]


def test_a_good_one_is_copied_and_nothing_is_reported() -> None:
    seen = Seen(config(GOOD), "", None)
    assert kept(seen) == GOOD
    assert list(announce(seen, NOTHING)) == []


def test_a_bad_one_is_reported_and_the_copy_of_the_last_good_one_stays() -> None:
    seen = Seen(config(BAD), "no profiles", config(GOOD))
    assert kept(seen) == GOOD
    (notice,) = announce(seen, NOTHING)
    assert (notice.reason, notice.warning) == ("ConfigInvalid", True)
    assert notice.message == "config.yaml: no profiles; the last good one stays in force"


def test_a_bad_one_that_was_never_good_is_reported_and_nothing_is_kept() -> None:
    seen = Seen(config(BAD), "no profiles", None)
    assert kept(seen) == ""
    (notice,) = announce(seen, NOTHING)
    assert notice.message.endswith("there is no good one yet")


def test_after_a_restart_with_a_bad_one_the_last_good_one_is_in_force() -> None:
    unknown = following(InForce(), KEY, config(BAD), None)
    assert unknown.config is None
    restored = following(unknown, KEY, config(BAD), config(GOOD))
    assert restored.config == parse(GOOD)
    assert "orchestrator-config" in restored.trouble
    corrected = following(restored, KEY, config(GOOD, "2"), config(GOOD))
    assert corrected.config == parse(GOOD)
    assert corrected.trouble == ""


def test_a_copy_that_is_no_good_either_is_not_used() -> None:
    assert following(InForce(), KEY, config(BAD), config(BAD)).config is None
