"""Evidence about work for many objects at once does not show what is done for others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Key, ObjectMeta
from seamark_runtime.calls import CallRecord, Failed
from seamark_runtime.controller import CollectionController, Output, Wanted
from seamark_runtime.evidence import evidence
from seamark_runtime.source import Collection

ZONE = Key("", "example.test")
MINE = Key("tenant-a", "web")
CALLS = [
    CallRecord("dns example.test read", 16.0, None, 4.0, 26.0, recurring=True),
    CallRecord("dns example.test update canary.tenant-b.example.test A", 16.0, Failed("canary refused"), 4.0),
    CallRecord("dns example.test update other.tenant-b.example.test A", 16.0),
]


def test_a_call_for_another_object_is_not_named() -> None:
    group: CollectionController[Any] = CollectionController(
        name="zones",
        keyed={ConfigMap: lambda _obj: [ZONE]},
        observe=lambda *_: None,
        desire=lambda _seen: Wanted(),
        outputs=(Output(Collection("zones"), lambda *_: {}),),
    )
    obj = ConfigMap(metadata=ObjectMeta(name=MINE.name, namespace=MINE.namespace))
    informer = SimpleNamespace(cache={MINE: obj}, kind=ConfigMap, trouble="", name="ConfigMap")
    operator: Any = SimpleNamespace(
        loop=SimpleNamespace(router=SimpleNamespace(controllers={"zones": group})),
        informers={ConfigMap: informer},
        calls=SimpleNamespace(records=lambda _item: CALLS),
        leader=None,
    )
    assert evidence(operator, ConfigMap.RESOURCE, MINE) == [
        "dns example.test read: answered 4 s ago, good for 26 s more"
    ]
