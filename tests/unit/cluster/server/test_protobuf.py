"""Protobuf bodies as typed clients send them."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_cluster.server.protobuf import MAGIC, Unreadable, to_json


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def field(number: int, value: str | bytes | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def body(api_version: str, kind: str, message: bytes) -> bytes:
    return MAGIC + field(1, field(1, api_version) + field(2, kind)) + field(2, message) + field(3, "") + field(4, "")


def read(api_version: str, kind: str, message: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(to_json(body(api_version, kind, message)))
    return found


def test_a_config_map_has_its_maps_and_its_bytes() -> None:
    meta = field(1, "colours") + field(2, "") + field(3, "default") + field(11, field(1, "app") + field(2, "shop"))
    message = (
        field(1, meta) + field(2, field(1, "sea") + field(2, "blue")) + field(3, field(1, "raw") + field(2, b"\xff"))
    )
    assert read("v1", "ConfigMap", message) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "colours", "namespace": "default", "labels": {"app": "shop"}},
        "data": {"sea": "blue"},
        "binaryData": {"raw": "/w=="},
    }


def test_types_inlined_in_json_quantities_and_ports_by_name_or_number() -> None:
    secret = field(6, field(1, "keys"))  # VolumeSource.secret
    volume = field(1, "keys") + field(2, secret)
    probe = field(1, field(2, field(1, "/up") + field(2, field(1, 1) + field(2, 0) + field(3, "http")))) + field(2, 5)
    limits = field(1, field(1, "cpu") + field(2, field(1, "500m")))
    container = field(1, "main") + field(8, limits) + field(11, probe)
    spec = field(1, volume) + field(2, container) + field(4, 0)
    found = read("v1", "Pod", field(1, field(1, "p")) + field(2, spec))["spec"]
    assert found["volumes"] == [{"name": "keys", "secret": {"secretName": "keys"}}]
    assert found["containers"][0]["resources"] == {"limits": {"cpu": "500m"}}
    assert found["containers"][0]["readinessProbe"] == {
        "httpGet": {"path": "/up", "port": "http"},
        "initialDelaySeconds": 5,
    }
    assert found["terminationGracePeriodSeconds"] == 0  # a pointer: zero is encoded


def test_times_negative_numbers_and_lists_of_lists() -> None:
    times = field(8, field(1, 1_767_225_600) + field(2, 0))
    assert read("v1", "Pod", field(1, times))["metadata"] == {"creationTimestamp": "2026-01-01T00:00:00Z"}
    ready = field(2, field(1, -3))
    assert read("apps/v1", "Deployment", ready)["spec"] == {"replicas": -3}
    extra = field(5, field(1, "scopes") + field(2, field(1, "a") + field(1, "b")))
    review = read("authorization.k8s.io/v1", "SubjectAccessReview", field(2, extra))
    assert review["spec"] == {"extra": {"scopes": ["a", "b"]}}


def test_a_body_that_is_not_a_message_of_a_known_kind_is_refused() -> None:
    with pytest.raises(Unreadable, match="does not appear to be a protobuf message"):
        to_json(b"{}")
    with pytest.raises(Unreadable, match='no kind "Harbour" is registered for version "v1"'):
        to_json(body("v1", "Harbour", b""))
    with pytest.raises(Unreadable, match="can't be read"):
        to_json(body("v1", "ConfigMap", field(1, "x" * 20))[:-10])


@given(st.binary(max_size=200), st.integers(0, 60))
def test_garbage_is_refused_or_read_and_nothing_else(garbage: bytes, cut: int) -> None:
    whole = body("v1", "Pod", field(1, field(1, "p")) + field(2, field(2, field(1, "main"))))
    for message in (MAGIC + garbage, whole[:cut] + garbage, body("v1", "Pod", garbage)):
        with contextlib.suppress(Unreadable):
            json.loads(to_json(message))
