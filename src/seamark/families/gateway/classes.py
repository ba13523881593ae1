"""Our class, and whether somebody else speaks in its name.

- The class of the configured name is made where there is none. One that a user made is left as it is.
- A controller that writes the status of a class of ours while we do is a rival: two that answer to one controllerName
  would overwrite each other for ever. So we fall silent, and say so by an event, until it has been quiet for a while.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from seamark.api.gateway import (
    GatewayClass,
    GatewayClassSpec,
    GatewayClassStatus,
    ManagedFields,
    ManagedMeta,
    SupportedFeature,
)
from seamark.api.meta import Condition, Key
from seamark.core.controller import Wanted
from seamark.core.events import Notice
from seamark.core.ownership import MANAGED_BY
from seamark.core.source import Facts, Fresh
from seamark.core.view import View
from seamark.families.gateway.state import CLASS_ACCEPTED

MANAGER = "seamark-gateways"
PEOPLE = ("kubectl", "seamark")  # whose writes are no controller's
SILENCE = 600.0  # seconds after a rival's last word
DEFAULT = Key("", "default")
EVERYWHERE = "default"  # a namespace that every cluster has


@dataclass(frozen=True)
class SeenClass:
    """A class of ours, and who else speaks of it."""

    object: GatewayClass
    rival: str = ""


@dataclass
class Rivals:
    """Notices who writes the status of our classes while we run."""

    controller_name: str
    facts: Facts[str, str] = field(default_factory=lambda: Facts("rivals"))
    _known: dict[Key, dict[str, str]] = field(default_factory=dict)  # class → manager → when it last wrote

    def notice(self, view: View, one: GatewayClass) -> str:
        """Looks at a class; the name of the rival, if there is one."""
        others = {each.manager: each.time for each in _others(one.metadata.managed_fields or ())}
        before = self._known.get(one.key)
        self._known[one.key] = others
        if before is not None:
            for manager, time in others.items():
                if before.get(manager) != time and one.metadata.spoken(MANAGER):
                    self.facts.put(self.controller_name, manager, view.now + SILENCE)
        return self.speaking(view)

    def speaking(self, view: View) -> str:
        fact = view.fact(self.facts, self.controller_name)
        return fact.value if isinstance(fact, Fresh) else ""


def _others(entries: Iterable[ManagedFields]) -> Iterable[ManagedFields]:
    return (one for one in entries if one.subresource == "status" and not one.manager.startswith(PEOPLE))


def judge(seen: SeenClass, features: tuple[str, ...]) -> GatewayClassStatus:
    standing = seen.object.status
    if seen.rival and standing is not None:
        ours = tuple(_bare(one) for one in standing.conditions if one.type == "Accepted")
        return GatewayClassStatus(conditions=ours, supported_features=standing.supported_features)
    ref = seen.object.spec.parameters_ref
    if ref is not None:
        accepted = CLASS_ACCEPTED.false("InvalidParameters", f"Parameters of kind {ref.kind} are not supported")
    else:
        accepted = CLASS_ACCEPTED.true("Accepted", "Seamark serves this class")
    published = tuple(SupportedFeature(name=name) for name in sorted(features))
    return GatewayClassStatus(conditions=(accepted,), supported_features=published or None)


def _bare(one: Condition) -> Condition:
    """As it stands, to be stamped as it stands."""
    return Condition(type=one.type, status=one.status, reason=one.reason, message=one.message, last_transition_time="")


def announce(seen: SeenClass, controller_name: str) -> Iterable[Notice]:
    if seen.rival:
        words = f"Another controller ({seen.rival}) speaks as {controller_name}; nothing is written until it is gone"
        yield Notice("ControllerNameTaken", words)


# ---- the class that is there by default


def observe_default(view: View, name: str, controller_name: str) -> GatewayClass | None:
    """What is wanted: ours, unless somebody has made one of that name."""
    standing = view.intent(GatewayClass, Key("", name))
    if standing is not None and standing.label(MANAGED_BY) != MANAGER:
        return None
    return GatewayClass(metadata=ManagedMeta(name=name), spec=GatewayClassSpec(controller_name=controller_name))


def desire_default(wanted: GatewayClass) -> Wanted:
    return Wanted(children={"class": wanted})
