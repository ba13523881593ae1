"""Whatever an edge answers, the operator goes on: an object, or an error that the runtime knows."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamark.providers.edge.calls import Kind
from seamark.providers.edge.ratelimiter import RateLimiter
from seamark.providers.edge.remote import RemoteEdge
from seamark.providers.edge.rest import LIMITS, RestCalls, Sender
from seamark.providers.edge.seamark import CAPABILITIES
from seamark.providers.edge.shapes import SHAPES
from seamark_edge.model import EndpointSpec, OperatorSpec, Owner
from seamark_runtime.errors import Retry, SeamarkError, Uncertain
from seamark_runtime.transport import Answer, HttpRequest
from tests.virtual_time import CLOCK, run

OWNER = Owner("c", "ns", "name", "uid")
FIELDS = sorted({field for shape in SHAPES.values() for field in shape.__struct_fields__})
plain: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=10)
    | st.sampled_from(["../../x", OWNER.metadata, "agent", 10**400]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=10,
)
items = st.fixed_dictionaries({"id": st.sampled_from(["ep_1", "ep_2"]) | plain}).flatmap(
    lambda start: st.dictionaries(st.sampled_from(FIELDS), plain, max_size=5).map(lambda rest: {**rest, **start})
)
pages = st.fixed_dictionaries(
    {kind.key: st.lists(items, max_size=3) | plain for kind in Kind}, optional={"next_page_uri": plain}
)


class Odd(Sender):
    """An edge that answers everything with the same document."""

    def __init__(self, document: Any, headers: dict[str, str] | None = None, status: int = 200) -> None:
        self.answer = Answer(
            status, document if isinstance(document, bytes) else msgspec.json.encode(document), headers or {}
        )
        self.asked: list[HttpRequest] = []

    async def send(self, request: HttpRequest) -> Answer:
        self.asked.append(request)
        return self.answer

    async def close(self) -> None:
        pass


def pace() -> RateLimiter:
    return RateLimiter(10**9, CLOCK, max_wait=1.0)


def edge(document: Any) -> RemoteEdge:
    return RemoteEdge(RestCalls(Odd(document), pace()), CAPABILITIES)


async def everything(remote: RemoteEdge) -> None:
    for work in (
        remote.reserve_address(OWNER),
        remote.find_address("a:1"),
        remote.reserve_domain(OWNER, "a.example"),
        remote.open_endpoint(OWNER, EndpointSpec("tcp://a.internal:1")),
        remote.register(OWNER, OperatorSpec(("true",))),
        remote.bound_endpoints("k8sop_1"),
        remote.holders("tcp://a:1"),
        remote.owned("c"),
        remote.release_address(OWNER),
    ):
        try:
            await work
        except SeamarkError:
            continue


@settings(deadline=None, max_examples=150)
@given(pages.filter(lambda page: not page.get("next_page_uri")) | items | plain)
def test_any_document_is_an_answer_or_a_declared_error(document: Any) -> None:
    run(everything(edge(document)))


@pytest.mark.parametrize("following", [5, [1], {"a": 1}, "http://[", "?" + "&".join(f"a{n}=1" for n in range(100))])
def test_an_address_of_the_next_page_that_is_none(following: Any) -> None:
    page = {"keys": [], "next_page_uri": following}
    with pytest.raises(Retry):
        run(RestCalls(Odd(page), pace()).listed(Kind.KEYS))


@pytest.mark.parametrize(
    "document", [b"[" * 100_000, b'{"keys":' + b"[" * 5000 + b"]" * 5000 + b"}", b" " * (LIMITS.size + 1)]
)
def test_documents_that_are_too_deep_or_too_large(document: bytes) -> None:
    calls = RestCalls(Odd(document), pace())
    with pytest.raises(Retry):
        run(calls.listed(Kind.KEYS))
    with pytest.raises(Uncertain):
        run(calls.create(Kind.KEYS, {}))


@pytest.mark.parametrize("ident", ["../api_keys/ak_1", "..", "a/b", "a?b=c", "%2e%2e", "", "a" * 200])
def test_an_id_that_could_leave_its_path_is_in_no_answer(ident: str) -> None:
    with pytest.raises(Retry, match="id"):
        run(RestCalls(Odd({"keys": [{"id": ident}]}), pace()).listed(Kind.KEYS))


@pytest.mark.parametrize("words", ["nan", "inf", "-1", "1e400", "soon", "9" * 400])
def test_a_time_to_wait_that_is_none_is_a_short_one(words: str) -> None:
    async def case() -> float | None:
        calls = RestCalls(Odd({"msg": "wait"}, {"Retry-After": words}, 429), pace())
        with pytest.raises(Retry) as caught:
            await calls.delete(Kind.KEYS, "ak_1")
        return caught.value.after

    after = run(case())
    assert after is not None
    assert 0 <= after <= 300
