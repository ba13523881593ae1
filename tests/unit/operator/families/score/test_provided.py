"""What the built-in provisioners give, and what is reported while they can't (docs/spec/score/claims.md)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.score import ResourceClaim, Workload
from seamark.families.score.orchestrator.reconcile import examine
from seamark.families.score.orchestrator.state import Seen as Planned
from seamark.families.score.platform.configuration import built_in
from seamark.families.score.provisioner.reconcile import judge
from seamark.families.score.provisioner.state import Given, Seen, given
from seamark_runtime.apply import Answers
from seamark_runtime.source import Absent

SERVERS = ("postgres", "postgres-instance", "mysql", "mssql", "mongodb", "redis", "amqp", "s3")


def claim(type_: str, key: str = "it", **params: Any) -> ResourceClaim:
    spec = {"workloadRef": {"name": "shop", "namespace": "demo"}, "key": key, "type": type_, "params": params}
    return msgspec.convert({"metadata": {"name": f"shop.{key}", "namespace": "demo"}, "spec": spec}, ResourceClaim)


def provided(wanted: ResourceClaim, *workloads: str) -> Given:
    provisioner = built_in().provisioner(wanted.spec.type, "")
    assert provisioner is not None
    spec = {"containers": {"main": {"image": "a"}}, "service": {"ports": [{"name": "web", "port": 80}]}}
    there = {name: msgspec.convert({"metadata": {"name": name}, "spec": spec}, Workload) for name in workloads}
    return given(wanted, provisioner, there.get)


def test_a_service_gives_the_name_of_the_service_of_the_workload_that_it_is_named_after() -> None:
    assert provided(claim("service", "cart"), "cart").values == {"name": "cart"}
    assert provided(claim("service", "2nd"), "2nd").values == {"name": "w-2nd"}
    assert "there is no Workload 'cart'" in provided(claim("service", "cart")).waiting


def test_an_environment_gives_its_parameters_as_they_are() -> None:
    wanted = claim("environment", REGION="north", LIMIT=3, TEMPLATE="{{.claim.name}}", ABSENT=None)
    assert provided(wanted).values == {"REGION": "north", "LIMIT": "3", "TEMPLATE": "{{.claim.name}}"}


@pytest.mark.parametrize("type_", SERVERS)
def test_a_server_waits_for_its_secret_and_says_which_keys_it_has_to_have(type_: str) -> None:
    wanted, provisioner = claim(type_), built_in().provisioner(type_, "")
    assert provisioner is not None
    status = judge(Seen(wanted, provisioner, provided(wanted), Absent()), Answers({}, {}))
    assert status.phase == "Claiming"
    assert "The Secret shop.it is not there (yet); it has to have " in status.message
    assert ", ".join(provisioner.secret_keys) in status.message


def test_an_unknown_type_is_no_fault_of_the_inputs() -> None:
    spec = {"containers": {"main": {"image": "a"}}, "resources": {"it": {"type": "zorp"}}}
    manifest = {"metadata": {"name": "shop", "uid": "u", "generation": 1}, "spec": spec}
    found = examine(Planned(msgspec.convert(manifest, Workload), built_in()))
    assert (found.wrong, found.waiting) == ("", "The resource it is not there yet")
    assert (
        built_in().without_provisioner("zorp", "big").startswith("no provisioner for 'zorp' of class 'big'; there are")
    )
