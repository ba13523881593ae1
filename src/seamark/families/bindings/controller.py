"""The wiring of the bindings family."""

from __future__ import annotations

import asyncio

from seamark.api.bindings import BoundEndpoint
from seamark.api.core import Service
from seamark.api.meta import Key
from seamark.core.calls import Results
from seamark.core.controller import Controller, Group
from seamark.core.ownership import ByLabels
from seamark.core.source import Reports
from seamark.core.status import ByManager
from seamark.core.view import View
from seamark.core.waker import Declaration
from seamark.families.bindings import groups
from seamark.families.bindings.reconcile import desire, judge
from seamark.families.bindings.services import MANAGER, NAME_LABEL, NAMESPACE_LABEL
from seamark.families.bindings.state import (
    CONDITIONS,
    FINALIZER,
    GROUP_MEMBERS,
    GroupReport,
    Probe,
    Seen,
    Settings,
    group_of,
)

TARGET_NAME = "bindings.seamark.dev/target-name"
TARGET_NAMESPACE = "bindings.seamark.dev/target-namespace"


def controllers(settings: Settings) -> tuple[Declaration, ...]:
    reports: Reports[GroupReport] = Reports("binding groups")

    def observe_group(view: View, key: Key, _results: Results) -> groups.SeenGroup | None:
        endpoints = tuple(one for one in view.by(GROUP_MEMBERS, key) if not one.deleting)
        return groups.SeenGroup(key, groups.members_of(endpoints), settings)

    def observe(view: View, endpoint: BoundEndpoint, results: Results) -> Seen:
        told = view.reports(reports, endpoint.key).get(group_of(endpoint))
        return Seen(endpoint, told, results, settings)

    return (
        Group(
            name="binding-groups",
            keyed={BoundEndpoint: lambda endpoint: (group_of(endpoint),)},
            indexes=(GROUP_MEMBERS,),
            observe=observe_group,
            desire=groups.desire,
            report=groups.report,
            reports=reports,
            children=(Service,),
            ownership=ByLabels("seamark-bindings", TARGET_NAME, TARGET_NAMESPACE),
        ),
        Controller(
            name="boundendpoints",
            kind=BoundEndpoint,
            sources=(reports,),
            observe=observe,
            desire=desire,
            judge=judge,
            status=ByManager(
                manager="seamark-bindings",
                conditions=CONDITIONS,
                fields=("target_service_ref", "upstream_service_ref"),
            ),
            children=(Service,),
            ownership=ByLabels(MANAGER, NAME_LABEL, NAMESPACE_LABEL),
            finalizer=FINALIZER,
            perform=connect,
            shelf_life=settings.shelf_life,
        ),
    )


async def connect(action: Probe) -> None:
    """A connection that is made and closed again is the evidence."""
    _, writer = await asyncio.open_connection(action.host, action.port)
    writer.close()
