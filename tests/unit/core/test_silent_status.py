"""A controller that says nothing in a status, writes none and may write none."""

from __future__ import annotations

from seamark.api.core import ConfigMap
from seamark.api.sample import Greeting
from seamark.core.conditions import Stamp
from seamark.core.controller import Controller, Wanted
from seamark.core.rbac import Grant, grants
from seamark.core.status import Silent


def test_nothing_ever_differs() -> None:
    mode = Silent()
    said = mode.said(object(), None)
    assert mode.stamped(None, said, Stamp(1, "now")) == said
    assert mode.statements(said) == {}
    assert mode.conditions == ()


def test_its_role_has_no_status_to_patch() -> None:
    silent: Controller[Greeting] = Controller(
        name="silent",
        kind=Greeting,
        observe=lambda _view, greeting, _results: greeting,
        desire=lambda _seen: Wanted(),
        judge=lambda _seen, _answers: None,
        children=(ConfigMap,),
        status=Silent(),
    )
    group = Greeting.RESOURCE.group
    assert {grant for grant in grants(silent) if grant.group == group} == {
        Grant(group, "greetings", verb) for verb in ("list", "watch")
    }
