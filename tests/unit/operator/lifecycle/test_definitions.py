"""Definitions that are there already stay, if they are foreign or newer."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from seamark.families.dns.family import DNS_ENDPOINT
from seamark.families.gateway.family import TRAFFIC_POLICY
from seamark.lifecycle.definitions import VERSION, Step, decide, install, marked
from seamark_runtime.errors import UserError
from seamark_runtime.transport import Answer, HttpRequest

WANTED, OTHER = marked([DNS_ENDPOINT, TRAFFIC_POLICY])
NAME = WANTED["metadata"]["name"]


def standing(version: str = "", serves: str = "v1alpha1") -> dict[str, Any]:
    annotations = {VERSION: version} if version else {}
    spec = {"versions": [{"name": serves, "served": True, "storage": True}]}
    said = [{"type": "Established", "status": "True"}]
    return {"metadata": {"name": NAME, "annotations": annotations}, "spec": spec, "status": {"conditions": said}}


def test_one_that_is_not_there_is_created() -> None:
    assert decide(WANTED, None).step is Step.CREATE


def test_ours_of_an_older_or_the_same_version_is_updated() -> None:
    assert decide(WANTED, standing("0.0.9")).step is Step.UPDATE
    assert decide(WANTED, standing(WANTED["metadata"]["annotations"][VERSION])).step is Step.UPDATE


def test_ours_of_a_newer_version_stays() -> None:
    decision = decide(WANTED, standing("99.0.0"))
    assert decision.step is Step.KEEP
    assert "newer version 99.0.0" in str(decision)


def test_somebody_elses_stays() -> None:
    assert decide(WANTED, standing()).step is Step.KEEP


def test_somebody_elses_that_does_not_serve_our_version_is_refused() -> None:
    decision = decide(WANTED, standing(serves="v1"))
    assert decision.step is Step.REFUSE
    assert "serves v1 but not v1alpha1" in str(decision)


def test_kinds_that_others_publish_are_never_updated() -> None:
    published = {**WANTED, "metadata": {"name": NAME, "annotations": {}}}
    assert decide(published, standing("0.0.1")).step is Step.KEEP


class Server:
    """Definitions by name, and what was written."""

    def __init__(self, *there: dict[str, Any]) -> None:
        self.there = {one["metadata"]["name"]: one for one in there}
        self.writes: list[str] = []

    async def send(self, request: HttpRequest) -> Answer:
        name = request.path.rpartition("/")[2]
        if request.method == "GET":
            found = self.there.get(name)
            return Answer(404, b"{}") if found is None else Answer(200, msgspec.json.encode(found))
        made = msgspec.json.decode(request.body)
        self.writes.append(f"{request.method} {made['metadata']['name']}")
        self.there[made["metadata"]["name"]] = {**made, "status": standing()["status"]}
        return Answer(201, b"{}")

    def stream(self, request: HttpRequest) -> Any:
        raise NotImplementedError

    async def close(self) -> None: ...


def test_nothing_is_written_where_one_is_refused() -> None:
    server = Server(standing(serves="v1"))
    with pytest.raises(UserError, match=r"nothing was installed.*upgrade or remove that definition"):
        asyncio.run(install(server, [OTHER, WANTED]))
    assert not server.writes


def test_what_is_missing_is_created_and_what_is_ours_applied() -> None:
    server = Server(standing("0.0.1"))
    asyncio.run(install(server, [OTHER, WANTED]))
    assert server.writes == [f"POST {OTHER['metadata']['name']}", f"PATCH {NAME}"]
