"""The platform's configuration, and what is chosen by it (docs/spec/score/claims.md, rules 6 to 9)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.score import PlatformConfig, Workload
from seamark.families.score.platform.configuration import KEY, ConfigError, built_in, parse
from seamark.families.score.platform.memory import InForce, following
from seamark.families.score.platform.selection import NoChoice, backend, profile
from seamark_runtime.api.meta import ObjectMeta

BACKENDS = "backends: [{backendId: k, runtimeClass: kubernetes}]"


def config(profiles: str = f"[{{name: web, {BACKENDS}}}]", more: str = "") -> str:
    return f"spec: {{profiles: {profiles}{', ' if more else ''}{more}}}"


FAULTY = {
    "no YAML": ("spec: [", "not valid YAML"),
    "nothing": ("", "Expected `object`"),
    "no profiles": (config("[]"), "$.spec.profiles"),
    "no backends": (config("[{name: web, backends: []}]"), "$.spec.profiles[0].backends"),
    "a field that nobody knows": (config(more="colour: red"), "colour"),
    "a profile twice": (config(f"[{{name: web, {BACKENDS}}}, {{name: web, {BACKENDS}}}]"), "'web' is there twice"),
    "a default that there is not": (config(more="defaults: {profile: zorp}"), "there is no profile 'zorp'"),
    "a selector's profile": (
        config(more="defaults: {selectors: [{matchLabels: {a: b}, profile: zorp}]}"),
        "there is no profile 'zorp'",
    ),
    "a scope": (config(f"[{{name: web, endpoint: {{scopes: [World]}}, {BACKENDS}}}]"), "'World' is no scope"),
    "a template that runs": (
        config(f"[{{name: web, endpoint: {{endpointTemplate: 'https://{{{{ exec }}}}'}}, {BACKENDS}}}]"),
        "endpointTemplate: {{exec}} names nothing",
    ),
    "a provisioner's template": (
        config(more="provisioners: [{type: zorp, values: {a: '{{.secret.key}}'}}]"),
        "provisioner zorp: {{.secret.key}} names nothing",
    ),
    "a version": (config("[{name: web, backends: [{backendId: k, runtimeClass: k, version: new}]}]"), "version"),
}


@pytest.mark.parametrize(("text", "message"), FAULTY.values(), ids=FAULTY)
def test_a_mistake_is_reported_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(text)
    assert message in str(raised.value)


def test_built_in_provisioners_stay_beside_those_of_the_platform() -> None:
    parsed = parse(config(more="provisioners: [{type: redis, values: {host: cache}}, {type: bucket, values: {a: b}}]"))
    types, built_in_types = ({entry.type for entry in each.provisioners} for each in (parsed, built_in()))
    assert types == {*built_in_types, "bucket"}
    redis = parsed.provisioner("redis", "")
    assert redis is not None
    assert redis.values == {"host": "cache"}


def test_the_last_good_configuration_stays_in_force() -> None:
    def config_map(version: str, text: str) -> PlatformConfig:
        return PlatformConfig(metadata=ObjectMeta(uid="u", resource_version=version), data={"config.yaml": text})

    invalid = following(InForce(), KEY, config_map("1", "nonsense"), None)
    assert invalid.config is None
    valid = following(invalid, KEY, config_map("2", config()), None)
    assert valid.config is not None
    assert valid.trouble == ""
    kept = following(valid, KEY, config_map("3", "spec: {}"), None)
    assert kept.config is valid.config
    assert "config.yaml of ConfigMap score-system/orchestrator-config" in kept.trouble
    assert following(kept, KEY, config_map("3", "spec: {}"), None) == kept
    assert following(kept, KEY, None, None).config == built_in()


def workload(annotations: dict[str, str] | None = None, labels: dict[str, str] | None = None, **spec: Any) -> Workload:
    metadata = {"name": "a", "annotations": annotations or {}, "labels": labels or {}}
    return msgspec.convert({"metadata": metadata, "spec": {"containers": {"m": {"image": "a"}}, **spec}}, Workload)


PORTS = {"ports": [{"port": 80}]}
MANY = parse(
    config(
        "[" + ", ".join(f"{{name: {name}, {BACKENDS}}}" for name in ("service", "jobs", "named", "rest")) + "]",
        "defaults: {profile: rest, selectors: [{matchLabels: {kind: job}, profile: jobs}]}",
    )
)


@pytest.mark.parametrize(
    ("of", "chosen"),
    {
        "by annotation": (workload({"score.dev/profile": "named"}, profile="jobs", service=PORTS), "named"),
        "by name": (workload(profile="named", service=PORTS), "named"),
        "by its ports": (workload(service=PORTS, labels={"kind": "job"}), "service"),
        "by its labels": (workload(labels={"kind": "job"}), "jobs"),
        "by default": (workload(), "rest"),
    }.values(),
)
def test_a_profile_is_chosen(of: Workload, chosen: str) -> None:
    assert profile(of, MANY).name == chosen


def test_without_any_that_fits_the_error_has_the_reason() -> None:
    with pytest.raises(NoChoice, match="has no default"):
        profile(workload(), parse(config("[{name: x, backends: [{backendId: k, runtimeClass: k}]}]")))
    constrained = "{backendId: k, runtimeClass: k, constraints: {features: [gpu], regions: [eu], selectors: [{a: b}]}}"
    only = parse(config(f"[{{name: web, backends: [{constrained}]}}]")).profiles[0]
    fits = {"score.dev/requires": "gpu", "score.dev/region": "eu"}
    assert backend(workload(fits, {"a": "b"}), only).backend_id == "k"
    for marks, labels in (
        (fits, {}),
        ({**fits, "score.dev/requires": "gpu,tpu"}, {"a": "b"}),
        ({**fits, "score.dev/region": "us"}, {"a": "b"}),
    ):
        with pytest.raises(NoChoice, match="no backend of the profile 'web' fits"):
            backend(workload(marks, labels), only)
