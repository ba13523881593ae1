"""What `seamark dev` makes for a claim that waits for a database (docs/guides/cluster.md)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.score import ResourceClaim
from seamark.families.score.platform.configuration import built_in
from seamark.families.score.provisioner.state import given, shared_as
from seamark_cluster.commands.dev.servers import SERVERS, objects


def claim(type_: str, **more: Any) -> ResourceClaim:
    spec = {"workloadRef": {"name": "shop", "namespace": "demo"}, "key": "db", "type": type_, **more}
    metadata = {"name": "shop.db", "namespace": "demo", "uid": "u"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, ResourceClaim)


def made(wanted: ResourceClaim) -> dict[str, dict[str, Any]]:
    provisioner, shared = built_in().provisioner(wanted.spec.type, ""), shared_as(wanted, None)
    assert provisioner is not None
    outputs = given(wanted, provisioner, lambda _: None, "", shared)
    found = objects(wanted, SERVERS[wanted.spec.type], outputs, shared)
    return {kind.__name__: document for kind, document in found}


@pytest.mark.parametrize("type_", sorted(SERVERS))
def test_a_server_is_where_the_outputs_of_the_claim_are(type_: str) -> None:
    wanted, found = claim(type_), made(claim(type_))
    provisioner = built_in().provisioner(type_, "")
    assert provisioner is not None
    outputs = given(wanted, provisioner, lambda _: None)
    assert found["Service"]["metadata"]["name"] == outputs.values["host"]
    assert str(found["Service"]["spec"]["ports"][0]["port"]) == outputs.values["port"]
    assert found["Secret"]["metadata"]["name"] == outputs.secret
    assert set(provisioner.secret_keys) <= found["Secret"]["stringData"].keys()


def test_a_password_is_in_the_secret_alone() -> None:
    found = made(claim("postgres"))
    password = found["Secret"].pop("stringData")["password"]
    assert len(password) >= 24
    assert password not in str(found)
    assert password != made(claim("postgres"))["Secret"]["stringData"]["password"]


def test_what_is_made_goes_with_the_claim_unless_it_is_shared() -> None:
    own, shared = made(claim("redis")), made(claim("redis", id="common"))
    assert all([owner["uid"] for owner in each["metadata"]["ownerReferences"]] == ["u"] for each in own.values())
    assert all(each["metadata"]["ownerReferences"] == [] for each in shared.values())
    assert own["Service"]["metadata"]["name"] != shared["Service"]["metadata"]["name"]
