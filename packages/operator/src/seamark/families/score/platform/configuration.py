"""The platform's configuration: profiles and their backends, provisioners, defaults.

- It is the key `config.yaml` of one ConfigMap. Without that ConfigMap the built-in one is in force.
- An unknown field is an error, with its path: an ignored setting is worse than none.
- An invalid one is reported, and the last valid one stays in force.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from seamark.families.score.platform.policy import EndpointPolicy, template_fault
from seamark.families.score.platform.templates import faults as template_faults
from seamark.families.score.platform.templates import names as template_names
from seamark_runtime.api.meta import Key
from seamark_runtime.untrusted.decoding import Malformed, decode_yaml

KEY = Key("score-system", "orchestrator-config")
ENTRY = "config.yaml"
BY_TEMPLATE = "template"  # our own provisioner; any other name is a foreign one
SCOPES = ("Public", "ClusterLocal", "VPC", "Other")


class _Part(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """Base of all parts of the configuration."""


class Template(_Part, frozen=True, kw_only=True):
    kind: Annotated[str, Meta(pattern="^(manifests|helm|kustomize)$")] = "manifests"
    ref: str = ""
    values: dict[str, Any] = {}


class Constraints(_Part, frozen=True, kw_only=True):
    """When a backend can be chosen: labels that a Workload has, features it requires, the region it wants."""

    selectors: tuple[dict[str, str], ...] = ()
    features: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()


class Backend(_Part, frozen=True, kw_only=True):
    backend_id: Annotated[str, Meta(min_length=1)]
    runtime_class: Annotated[str, Meta(min_length=1, max_length=63)]
    template: Template = Template()
    priority: int = 0
    version: Annotated[str, Meta(pattern=r"^[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}([-+].*)?$")] = "0.0.0"
    constraints: Constraints = Constraints()


class Endpoint(_Part, frozen=True, kw_only=True):
    """Policies about a published endpoint; off unless set."""

    scopes: tuple[str, ...] = ()
    template: str = msgspec.field(default="", name="endpointTemplate")


class Profile(_Part, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=63)]
    backends: Annotated[tuple[Backend, ...], Meta(min_length=1)]
    endpoint: Endpoint = Endpoint()

    @property
    def policy(self) -> EndpointPolicy:
        return EndpointPolicy(self.endpoint.scopes, self.endpoint.template)


class Peer(_Part, frozen=True, kw_only=True):
    """Another Workload of the namespace and a port of it, by name or number: `.peer.service` and `.peer.port` are its
    Service and the number of the Service's port."""

    workload: Annotated[str, Meta(min_length=1)]
    port: str = ""


class Provisioner(_Part, frozen=True, kw_only=True):
    """How resources of a type are provided: values from templates, and a Secret that exists or will be created."""

    type: Annotated[str, Meta(min_length=2, max_length=63)]
    provisioner: str = BY_TEMPLATE
    classes: tuple[str, ...] = ()
    defaults: dict[str, Any] = {}
    values: dict[str, str] = {}
    values_from_params: bool = False  # every parameter is an output, too
    peer: Peer | None = None
    secret_name: str = ""
    secret_keys: tuple[str, ...] = ()  # what the Secret has to have, for the message about one that is not there
    uri: str = ""
    deprovision_policy: Annotated[str, Meta(pattern="^(Delete|Retain|Orphan)$")] = "Delete"


class Selector(_Part, frozen=True, kw_only=True):
    match_labels: Annotated[dict[str, str], Meta(min_length=1)]
    profile: str


class Defaults(_Part, frozen=True, kw_only=True):
    profile: str = ""
    selectors: tuple[Selector, ...] = ()


class Config(_Part, frozen=True, kw_only=True):
    profiles: Annotated[tuple[Profile, ...], Meta(min_length=1)]
    provisioners: tuple[Provisioner, ...] = ()
    defaults: Defaults = Defaults()

    def profile(self, name: str) -> Profile | None:
        return next((profile for profile in self.profiles if profile.name == name), None)

    def without_provisioner(self, type_: str, class_: str) -> str:
        """The message about a resource that nothing here provides."""
        of_class = f" of class {class_!r}" if class_ else ""
        there = ", ".join(sorted({each.type for each in self.provisioners}))
        return f"no provisioner for {type_!r}{of_class}; there are {there}"

    def provisioner(self, type_: str, class_: str) -> Provisioner | None:
        """The provisioner of this class; one without classes is for all of them."""
        of_type = [provisioner for provisioner in self.provisioners if provisioner.type == type_]
        exact = [provisioner for provisioner in of_type if class_ and class_ in provisioner.classes]
        return next(iter(exact or [provisioner for provisioner in of_type if not provisioner.classes]), None)


class Document(_Part, frozen=True, kw_only=True):
    spec: Config
    api_version: str = ""
    kind: str = ""
    metadata: dict[str, Any] = {}


class ConfigError(ValueError):
    """What is wrong with a configuration, and where."""


def parse(text: str) -> Config:
    """The configuration in a text; raises `ConfigError`."""
    written = _read(text)
    own = {provisioner.type for provisioner in written.provisioners}
    others = tuple(provisioner for provisioner in built_in().provisioners if provisioner.type not in own)
    config = msgspec.structs.replace(written, provisioners=(*written.provisioners, *others))
    if fault := next(_faults(config), ""):
        raise ConfigError(fault)
    return config


@cache
def built_in() -> Config:
    return _read(resources.files(__package__).joinpath("builtin.yaml").read_text())


def _read(text: str) -> Config:
    try:
        return msgspec.convert(decode_yaml(text), Document).spec
    except Malformed as error:
        raise ConfigError(str(error)) from None
    except msgspec.ValidationError as error:
        raise ConfigError(str(error)) from None


def _faults(config: Config) -> Iterator[str]:
    names = Counter(profile.name for profile in config.profiles)
    for name, count in names.items():
        if count > 1:
            yield f"the profile {name!r} is there twice"
    for name in (config.defaults.profile, *(selector.profile for selector in config.defaults.selectors)):
        if name and name not in names:
            yield f"there is no profile {name!r}; there are {', '.join(names)}"
    for profile in config.profiles:
        for scope in profile.endpoint.scopes:
            if scope not in SCOPES:
                yield f"profile {profile.name}: {scope!r} is no scope; there are {', '.join(SCOPES)}"
        if profile.endpoint.template and (fault := template_fault(profile.endpoint.template)):
            yield f"profile {profile.name}: endpointTemplate: {fault}"
    for provisioner in config.provisioners:
        yield from (f"provisioner {provisioner.type}: {fault}" for fault in _template_faults(provisioner))


def _template_faults(provisioner: Provisioner) -> Iterator[str]:
    """Of the names of a peer those that can be known: none where there is none, its port where that is named."""
    peer = provisioner.peer
    own = (peer.workload, peer.port) if peer is not None else ()
    values = (*provisioner.values.values(), provisioner.secret_name, provisioner.uri)
    known = () if peer is None else (".peer.service", ".peer.port") if peer.port else (".peer.service",)
    for template, peers in (*((text, ()) for text in own), *((text, known) for text in values)):
        if fault := template_faults(template):
            yield fault
        for name in template_names(template):
            if name.startswith(".peer.") and name not in peers:
                yield f"{{{{{name}}}}} needs {'peer.port' if peer is not None and peers else 'a peer'}"


def last_good_key(key: Key) -> Key:
    """The ConfigMap that holds the last valid configuration, beside the one that users write."""
    return Key(key.namespace, f"{key.name}.last-good")
