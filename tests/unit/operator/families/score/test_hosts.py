"""The host names that resources of the type dns get (docs/spec/score/claims.md, rule 11)."""

from __future__ import annotations

from typing import Any

import msgspec

from seamark.api.score import ResourceClaim
from seamark.families.score.platform.configuration import Provisioner, built_in
from seamark.families.score.provisioner.hosts import platform_host
from seamark.families.score.provisioner.state import given, shared_as
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import ObjectMeta
from seamark_runtime.untrusted.dnsnames import canonical_name


def claim(key: str = "dns", workload: str = "shop", namespace: str = "default", **more: str) -> ResourceClaim:
    spec = {"workloadRef": {"name": workload, "namespace": namespace}, "key": key, "type": "dns", **more}
    metadata = {"name": f"{workload}.{key}", "namespace": namespace}
    return msgspec.convert({"metadata": metadata, "spec": spec}, ResourceClaim)


def provisioner(type_: str) -> Provisioner:
    found = built_in().provisioner(type_, "")
    assert found is not None
    return found


def test_below_the_domain_of_the_platform_every_claim_has_a_name_of_its_own_that_stays() -> None:
    claims = claim(), claim("other"), claim(workload="cart"), claim(namespace="stage")
    hosts = [platform_host(each, "apps.example.com", "shop") for each in claims]
    assert len(set(hosts)) == len(claims)
    assert hosts == [platform_host(each, "apps.example.com", "shop") for each in claims]
    assert all(host.endswith(".apps.example.com") for host in hosts)
    assert hosts[0].startswith("shop-")


def test_the_longest_name_of_a_workload_still_gives_a_name_that_dns_has() -> None:
    for workload in ("w" * 63, "a." * 31 + "a", "x" * 53 + ".-y"):
        host = platform_host(claim(workload=workload), "example.com", "shop")
        assert canonical_name(host) == host


def test_claims_of_one_identity_have_the_same_name_and_those_of_another_do_not() -> None:
    shared = claim("a", "back", id="main-host"), claim("b", "front", id="main-host", **{"class": "default"})
    others = claim(id="main-host", **{"class": "internal"}), claim(id="other"), claim(namespace="stage", id="main-host")
    hosts = [platform_host(each, "example.com", "shop") for each in (*shared, *others)]
    assert hosts[0] == hosts[1]
    assert len(set(hosts)) == 4


def test_outputs_of_a_shared_resource_are_the_same_for_every_workload() -> None:
    def outputs(workload: str, before: ConfigMap | None = None) -> Any:
        each = claim("db", workload, id="common", type="postgres")
        found = given(each, provisioner("postgres"), lambda _: None, "", shared_as(each, before))
        return found.values, found.secret

    assert outputs("aa") == outputs("mm")
    unmarked = ConfigMap(metadata=ObjectMeta(name="mm.db.outputs"))
    assert outputs("mm", unmarked)[1] == "mm.db"  # made by a version that shared nothing: its data stays where it is
    assert outputs("aa")[1] not in ("aa.db", "mm.db")


def test_without_a_domain_it_is_the_name_inside_the_cluster() -> None:
    provided = given(claim(), provisioner("dns"), lambda _: None)
    assert provided.values == {"host": "shop.default.svc.cluster.local"}
