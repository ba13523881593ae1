"""Which profile, and which of its backends, a Workload gets. The same facts always give the same choice."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.api.score import Workload
from seamark.families.score.platform.configuration import Backend, Config, Profile

PROFILE = "score.dev/profile"
REQUIRES = "score.dev/requires"  # features that the backend must have, with commas between them
REGION = "score.dev/region"
DERIVED = {True: ("web-service", "web", "service"), False: ("batch",)}  # by whether it offers ports


class NoChoice(ValueError):
    """Why nothing could be chosen, in words for the user."""


def profile(workload: Workload, config: Config) -> Profile:
    """What the user names; else by its ports; else by its labels; else the default."""
    named = workload.annotation(PROFILE) or workload.spec.profile
    if named:
        if found := config.profile(named):
            return found
        raise NoChoice(
            f"there is no profile {named!r}; there are " + ", ".join(profile.name for profile in config.profiles)
        )
    has_ports = workload.spec.service is not None and bool(workload.spec.service.ports)
    for name in DERIVED[has_ports]:
        if found := config.profile(name):
            return found
    labels = workload.metadata.labels or {}
    for selector in config.defaults.selectors:
        if _matches(selector.match_labels, labels) and (found := config.profile(selector.profile)):
            return found
    if found := config.profile(config.defaults.profile):
        return found
    raise NoChoice("no profile fits, and the platform has no default; name one in spec.profile")


def backend(workload: Workload, chosen: Profile) -> Backend:
    """Of those whose constraints hold: the highest priority, the newest version, the first name."""
    fitting = [candidate for candidate in chosen.backends if _fits(workload, candidate)]
    if not fitting:
        raise NoChoice(f"no backend of the profile {chosen.name!r} fits the Workload's labels, features and region")
    return min(
        fitting, key=lambda candidate: (-candidate.priority, _newest_first(candidate.version), candidate.backend_id)
    )


def _fits(workload: Workload, candidate: Backend) -> bool:
    constraints, labels = candidate.constraints, workload.metadata.labels or {}
    if constraints.selectors and not any(_matches(selector, labels) for selector in constraints.selectors):
        return False
    required = set(workload.annotation(REQUIRES).replace(",", " ").split())
    if not required <= set(constraints.features):
        return False
    region = workload.annotation(REGION)
    return not region or not constraints.regions or region in constraints.regions


def _matches(wanted: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return all(labels.get(name) == value for name, value in wanted.items())


def _newest_first(version: str) -> tuple[int, ...]:
    """Semantic versions in descending order; a pre-release is older than its release."""
    core, _, rest = version.partition("+")[0].partition("-")
    return (*(-int(number) for number in core.split(".")), 1 if rest else 0)
