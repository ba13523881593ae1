"""A container's environment and command line."""

from __future__ import annotations

from typing import Any

import pytest

from seamark_cluster.kubelet.environment import NotConfigured, command_line, environment, expand, field
from tests.unit.cluster.kubelet.pods import KNOWN, PLACEMENT, pod


def env_of(container: dict[str, Any], **metadata: Any) -> dict[str, str]:
    subject = pod({"containers": [{"name": "web", **container}]}, **metadata)
    return environment(subject, subject.spec.containers[0], KNOWN, PLACEMENT, {"PATH": "/bin"})


def test_values_come_from_fields_config_maps_and_secrets() -> None:
    env = env_of(
        {
            "env": [
                {"name": "PLAIN", "value": "x"},
                {"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                {"name": "TIER", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['tier']"}}},
                {"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "mode"}}},
                {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}},
            ]
        },
        labels={"tier": "gold"},
    )
    assert env == {
        "PATH": "/bin",
        "PLAIN": "x",
        "ADDRESS": "10.244.0.7",
        "TIER": "gold",
        "MODE": "fast",
        "TOKEN": "s3cret",
    }


def test_whole_sources_come_first_with_their_prefix_and_single_values_go_over_them() -> None:
    env = env_of(
        {
            "envFrom": [
                {"configMapRef": {"name": "settings"}, "prefix": "C_"},
                {"secretRef": {"name": "none", "optional": True}},
            ],
            "env": [{"name": "C_mode", "value": "slow"}, {"name": "BOTH", "value": "$(C_mode)/$(C_size)"}],
        }
    )
    assert (env["C_mode"], env["C_size"], env["BOTH"]) == ("slow", "3", "slow/3")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"configMapKeyRef": {"name": "other", "key": "mode"}}, 'configmap "other" not found'),
        ({"configMapKeyRef": {"name": "settings", "key": "x"}}, 'couldn\'t find key x in configmap "settings"'),
        ({"secretKeyRef": {"name": "other", "key": "x"}}, 'secret "other" not found'),
        ({"fieldRef": {"fieldPath": "spec.magic"}}, "fieldPath spec.magic is not supported"),
    ],
)
def test_a_missing_reference_is_reported_with_the_kubelets_message(source: dict[str, Any], message: str) -> None:
    with pytest.raises(NotConfigured, match=message):
        env_of({"env": [{"name": "X", "valueFrom": source}]})


def test_an_optional_key_that_is_missing_sets_nothing() -> None:
    source = {"configMapKeyRef": {"name": "settings", "key": "x", "optional": True}}
    assert "X" not in env_of({"env": [{"name": "X", "valueFrom": source}]})


@pytest.mark.parametrize(
    ("text", "expanded"),
    [("$(A)-$(B)", "1-$(B)"), ("$$(A)", "$(A)"), ("$A $", "$A $"), ("$(A)$(A)", "11")],
)
def test_references_are_expanded_where_they_are_known(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1"}) == expanded


@pytest.mark.parametrize(
    ("container", "line"),
    [
        ({}, ["/image", "usual"]),
        ({"args": ["own"]}, ["/image", "own"]),
        ({"command": ["/own"]}, ["/own"]),
        ({"command": ["/own"], "args": ["$(A)"]}, ["/own", "1"]),
    ],
)
def test_a_command_replaces_all_of_the_images_and_args_only_its_args(
    container: dict[str, Any], line: list[str]
) -> None:
    subject = pod({"containers": [{"name": "web", **container}]}).spec.containers[0]
    assert command_line(subject, ["/image"], ["usual"], {"A": "1"}) == line


def test_all_labels_are_a_file_of_lines() -> None:
    assert field(pod(labels={"b": "2", "a": "1"}), "metadata.labels", PLACEMENT) == 'a="1"\nb="2"'
