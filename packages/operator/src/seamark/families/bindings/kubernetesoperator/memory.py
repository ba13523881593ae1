"""What is remembered of an installation between reconciles."""

from __future__ import annotations

from dataclasses import dataclass, replace

from seamark.families.bindings.kubernetesoperator.reconcile import notices
from seamark.families.bindings.kubernetesoperator.state import Seen
from seamark.families.bindings.model.certificates import Held, Validity, held
from seamark.families.bindings.model.dependencies import Dependencies
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.events import Notice
from seamark_runtime.follow import Unreadable
from seamark_runtime.source import Fresh, NotYet
from seamark_runtime.view import View


@dataclass(frozen=True)
class Remembered:
    """What earlier reconciles have found."""

    attempt: int = 0  # how often the edge no longer knew this installation
    revoked: str = ""  # the mark of the certificate of the registration that the edge no longer knew last
    announced: tuple[Notice, ...] = ()  # the notices of the last reconcile


@dataclass(frozen=True)
class Certificate:
    """What the Secret holds, or why it can't be read; neither, where it is not read (yet)."""

    held: Held | None = None
    trouble: str = ""


class InstallationMemory:
    """Of the one KubernetesOperator that is this installation."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._remembered: dict[Key, Remembered] = {}  # of no other key than that of the options

    def get(self, key: Key) -> Remembered | None:
        return self._remembered.get(key)

    def advance(self, view: View, operator: KubernetesOperator, _results: Results) -> None:
        if operator.key != self._dependencies.options.key:
            return
        before = self._remembered.get(operator.key, Remembered())
        self._remembered[operator.key] = self._revoked(before, view, operator)

    def _revoked(self, before: Remembered, view: View, operator: KubernetesOperator) -> Remembered:
        """A certificate belongs to its registration: the one that is held when the edge does not know us is void."""
        attempt = attempts(self._dependencies, view, operator.key)
        found = read(self._dependencies, view, operator).held
        if found is None or attempt <= before.attempt:
            return before
        return replace(before, attempt=attempt, revoked=found.mark)

    def acknowledge(self, seen: Seen, _answers: Answers) -> None:
        key = seen.operator.key
        self._remembered[key] = replace(self._remembered[key], announced=tuple(notices(seen)))

    def forget(self, key: Key) -> None:
        self._remembered.pop(key, None)


def attempts(dependencies: Dependencies, view: View, key: Key) -> int:
    fact = view.fact(dependencies.edge.attempts, key)
    return fact.value if isinstance(fact, Fresh) else 0


def read(dependencies: Dependencies, view: View, operator: KubernetesOperator) -> Certificate:
    """What the Secret holds at the date of the view."""
    binding = operator.spec.binding
    if binding is None or operator.deleting:
        return Certificate()
    match view.single(Secret, Key(operator.metadata.namespace, binding.tls_secret_name)):
        case NotYet():
            return Certificate()
        case Unreadable(message=message):
            return Certificate(trouble=message)
        case fact:
            secret = fact.value if isinstance(fact, Fresh) else None
            return Certificate(held(secret, dependencies.certificates, view.date))


def usable(certificate: Certificate, remembered: Remembered) -> Certificate:
    """Without the certificate of a registration that the edge no longer knows."""
    found = certificate.held
    if found is None or not found.mark or found.mark != remembered.revoked:
        return certificate
    return Certificate(replace(found, validity=Validity.MISSING))
