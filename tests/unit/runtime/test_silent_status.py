"""A controller without a status writes none, and has no right to write one."""

from __future__ import annotations

from seamark.api.sample import Greeting
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.conditions import Stamp
from seamark_runtime.controller import Controller, Wanted, Writes
from seamark_runtime.rbac import Grant, grants
from seamark_runtime.status import NoStatus


def test_nothing_ever_differs() -> None:
    mode = NoStatus()
    said = mode.published(object(), None)
    assert mode.stamped(None, said, Stamp(1, "now")) == said
    assert mode.condition_map(said) == {}
    assert mode.conditions == ()


def test_its_role_has_no_status_to_patch() -> None:
    silent: Controller[Greeting] = Controller(
        name="silent",
        kind=Greeting,
        observe=lambda _view, greeting, _results: greeting,
        desire=lambda _seen: Wanted(),
        judge=lambda _seen, _answers: None,
        status=NoStatus(),
        writes=Writes(children=(ConfigMap,)),
    )
    group = Greeting.RESOURCE.group
    assert {grant for grant in grants(silent) if grant.group == group} == {
        Grant(group, "greetings", verb) for verb in ("list", "watch")
    }
