"""Objects with fields that any editor may have written: they are explained all the same."""

from __future__ import annotations

from typing import Any

import pytest

from seamark.explain import kinds
from seamark.explain.assess import conditions_of
from seamark.explain.links import links


@pytest.mark.parametrize("key", ["k:" + "[" * 100_000, "k:{", 'k:{"type":1}', "k:" + "9" * 5_000, "k:[]", "k:"])
def test_a_forged_key_of_the_managed_fields_names_no_writer(key: str) -> None:
    conditions = [{"type": "Ready", "status": "True", "reason": "Fine", "message": "", "lastTransitionTime": ""}]
    forged = {"manager": "evil", "fieldsV1": {"f:status": {"f:conditions": {key: {}}}}}
    raw: dict[str, Any] = {"metadata": {"name": "a", "managedFields": [forged]}, "status": {"conditions": conditions}}
    assert [condition.type for condition in conditions_of(raw)] == ["Ready"]


@pytest.mark.parametrize("url", ["http://[", "//[::1", "http://a:99999999", "x" * 100_000, "http://\u2100.com"])
def test_an_upstream_that_is_no_url_leads_nowhere(url: str) -> None:
    raw = {"metadata": {"name": "a", "namespace": "ns"}, "spec": {"upstream": {"url": url}}}
    assert [link for link in links(kinds.AGENT_ENDPOINT, raw) if link.resource == kinds.SERVICE] == []
