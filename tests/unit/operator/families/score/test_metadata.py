"""Metadata in a Score file: placeholders of it, and annotations that Pods and Services get."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.score import Workload
from seamark.families.score.model.serviceports import service_name
from seamark.families.score.orchestrator.placeholders import Reference, parse
from seamark.families.score.orchestrator.resolve import Wrong, plain
from seamark.families.score.orchestrator.state import Seen
from seamark.families.score.orchestrator.values import check_shape, user_annotations
from seamark.families.score.platform.configuration import built_in


def workload(name: str = "app", marks: dict[str, str] | None = None, **metadata: Any) -> Workload:
    spec = {"containers": {"main": {"image": "a"}}, "metadata": metadata, "service": {"ports": [{"port": 80}]}}
    return msgspec.convert({"metadata": {"name": name, "annotations": marks or {}}, "spec": spec}, Workload)


def resolved(text: str, seen: Workload) -> str:
    return plain(text, Seen(seen, built_in()), "here")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${metadata.team}", "payments"),
        ("${metadata.tier} of ${metadata.name}", "3 of app"),
        ("${metadata.contact.mail}", "a@example.com"),
        ("${metadata.contact}", '{"mail":"a@example.com"}'),
        ("${metadata.critical}", "true"),
        (r"${metadata.versions.v1\.2}", "stable"),
        (r"${metadata.annotations.example\.com/team}", "north"),
        ("${metadata.annotations.example.com/team}", "north"),
        (r"$${metadata.a\.b}", r"${metadata.a\.b}"),
    ],
)
def test_every_key_of_the_metadata_can_be_named(text: str, value: str) -> None:
    more: dict[str, Any] = {"team": "payments", "tier": 3, "contact": {"mail": "a@example.com"}, "critical": True}
    assert resolved(text, workload(marks={"example.com/team": "north"}, versions={"v1.2": "stable"}, **more)) == value


@pytest.mark.parametrize("text", ["${metadata.nothing}", "${metadata.team.more}", "${metadata}", r"${metadata.te\.am}"])
def test_a_key_that_there_is_not_is_an_error(text: str) -> None:
    with pytest.raises(Wrong, match="names nothing"):
        resolved(text, workload(team="payments"))


def test_a_backslash_before_a_dot_keeps_it_in_the_name() -> None:
    assert parse(r"${a.b\.c.d\.e\.f}") == (Reference(("a", "b.c", "d.e.f")),)
    assert parse(r"${a\.}") == (Reference(("a.",)),)


def test_pods_and_services_get_the_annotations_of_the_user_and_no_records_of_tools() -> None:
    records = {
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "k8s.score.dev/kind": "Deployment",
        "score.dev/profile": "web-service",
        "argocd.argoproj.io/tracking-id": "x",
    }
    own = {"prometheus.io/scrape": "true", "plain-key": "v", "score.dev": "x", "example.com/Owner_of.this-1": "y"}
    assert user_annotations(workload(marks={**records, **own})) == own


def test_a_service_has_the_name_that_is_wanted_or_one_that_kubernetes_accepts() -> None:
    wanted = workload(marks={"k8s.score.dev/service-name": "catalog"})
    assert [service_name(each) for each in (wanted, workload("app"), workload("2048-game"))] == [
        "catalog",
        "app",
        "w-2048-game",
    ]
    with pytest.raises(Wrong, match=r"metadata.annotations\[k8s.score.dev/service-name\]: 'Web_Main' can't name"):
        check_shape(workload(marks={"k8s.score.dev/service-name": "Web_Main"}))
