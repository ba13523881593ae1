"""All TrafficPolicies that may concern a gateway, found by their targets. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from seamark.families.gateway.model.policies import TrafficPolicyView
from seamark_runtime.api.meta import Key

Labels = tuple[tuple[str, str], ...]
SelectorKey = tuple[
    str, str, str, tuple[str, str] | None
]  # kind, namespace, section, and the first label of a selector


class PolicyTable:
    """All policies that may concern a gateway, by their targets: an object is compared only with those that name it,
    and those whose first label it has."""

    def __init__(self, policies: Iterable[TrafficPolicyView]) -> None:
        self._named: dict[tuple[str, Key, str], list[TrafficPolicyView]] = {}
        self._sections: dict[tuple[str, Key], list[tuple[str, TrafficPolicyView]]] = {}
        self._selecting: dict[SelectorKey, list[tuple[TrafficPolicyView, Labels]]] = {}
        self._by_key: dict[Key, TrafficPolicyView] = {}
        self._policies = tuple(policies)
        for policy in sorted(self._policies, key=lambda policy: policy.age):
            self._by_key[policy.key] = policy
            for kind, key, section in policy.targets:
                self._named.setdefault((kind, key, section), []).append(policy)
                if section:
                    self._sections.setdefault((kind, key), []).append((section, policy))
            for kind, labels, section in policy.selectors:
                selecting = (kind, policy.key.namespace, section, labels[0] if labels else None)
                self._selecting.setdefault(selecting, []).append((policy, labels))

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def __iter__(self) -> Iterator[TrafficPolicyView]:
        return iter(self._policies)

    def replacing(self, others: Mapping[Key, TrafficPolicyView]) -> PolicyTable:
        """With these in place of those of the same key."""
        return PolicyTable(others.get(policy.key, policy) for policy in self._policies)

    def extension(self, key: Key) -> TrafficPolicyView | None:
        return self._by_key.get(key)

    def without_section(self, kind: str, key: Key, sections: Iterable[str]) -> list[TrafficPolicyView]:
        """Those that name a section of the object that is not one of these: they have no effect there."""
        known = set(sections)
        return [
            policy for section, policy in self._sections.get((kind, key), ()) if section not in known and policy.missing
        ]

    def usable(self, key: Key) -> bool:
        policy = self._by_key.get(key)
        return policy is not None and not policy.problem

    def about(self, kind: str, key: Key, section: str, labels: Mapping[str, str]) -> list[TrafficPolicyView]:
        found = list(self._named.get((kind, key, section), ()))
        for label in (None, *labels.items()) if self._selecting else ():
            for policy, wanted in self._selecting.get((kind, key.namespace, section, label), ()):
                if all(labels.get(name) == value for name, value in wanted):
                    found.append(policy)
        return sorted(dict.fromkeys(found), key=lambda policy: policy.age)
