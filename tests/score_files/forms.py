"""The forms of `expect.yaml`: what a runner applies, and what it finds with kubectl and curl.

An unknown key is an error. A field that is absent states nothing; README.md says how a runner checks each of them.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Path = tuple[str | int, ...]
Scalar = str | int | float | bool | None


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all forms share."""


# ---- values


class Match(Form, frozen=True):
    """A value that is not known in full. Exactly one field is set."""

    matches: str | None = None  # a regular expression for the whole value
    contains: str | None = None
    json: Any = msgspec.UNSET  # equal when decoded
    secret: str | None = None  # like matches; in plain text nowhere but in Secrets and containers
    present: Literal[True] | None = None  # there, and not empty
    absent: Literal[True] | None = None
    unchanged: Literal[True] | None = None  # as it was in the expectation before
    same_as: str | None = None  # workload/container/VARIABLE
    differs_from: str | None = None


class ValueOf(Form, frozen=True):
    """The value of a variable, as part of a request."""

    value_of: str  # workload/container/VARIABLE


class AtLeast(Form, frozen=True):
    at_least: int


Text = str | Match


# ---- what is applied


class Apply(Form, frozen=True):
    """One command. `environment` is the environment of the command."""

    files: tuple[str, ...] = ("score.yaml",)
    image: str | None = None
    overrides_file: str | None = None
    override_properties: tuple[str, ...] = ()
    environment: dict[str, str] = {}


class Refused(Form, frozen=True):
    """The message names one of the paths (any usual notation), and each of the mentions.

    stage file: the command ends with an error, and nothing is created or changed
    stage either: that, or the Workload is not Ready and a condition of it has the message
    """

    stage: Literal["file", "either"]
    paths: tuple[Path, ...]
    mentions: tuple[str, ...] = ()


# ---- what is found


class NotReady(Form, frozen=True):
    """The condition that is not True, and what its message names."""

    condition: Literal["ClaimsReady", "RuntimeReady", "InputsValid"]
    path: Path | None = None
    mentions: tuple[str, ...] = ()


class Endpoint(Form, frozen=True):
    """`status.endpoint`, and the entry of the exposure that it was chosen from. `scheme` lists what is allowed."""

    scope: Literal["Public", "ClusterLocal"]
    scheme: tuple[Literal["HTTP", "HTTPS", "GRPC", "TCP", "OTHER"], ...]
    host: Text | None = None
    path: str | None = None
    unchanged: bool = False


class Port(Form, frozen=True):
    port: int
    target_port: int
    protocol: Literal["TCP", "UDP"]


class Service(Form, frozen=True):
    ports: dict[str, Port]
    name: str | None = None  # the Workload's, if absent
    annotations: dict[str, str] = {}


class File(Form, frozen=True):
    content: Text | None = None
    base64: str | None = None
    mode: str | None = None


class Compute(Form, frozen=True):
    """Quantities, compared as quantities."""

    requests: dict[str, str] = {}
    limits: dict[str, str] = {}


class Run(Form, frozen=True):
    """A command in the container and its standard output."""

    command: tuple[str, ...]
    output: Text | None = None


class Container(Form, frozen=True):
    env: dict[str, Text] = {}
    files: dict[str, File] = {}
    volumes: dict[str, Literal["writable", "read-only", "mounted"]] = {}
    log: Text | None = None
    restarts: int | None = None
    running: bool | None = None
    resources: Compute | None = None
    run: tuple[Run, ...] = ()


class Order(Form, frozen=True):
    """`first` has reached a state before `then` started."""

    first: str
    state: Literal["started", "healthy", "complete"] = msgspec.field(name="is")
    then: str


class Pod(Form, frozen=True):
    annotations: dict[str, str]


class Workload(Form, frozen=True):
    ready: bool | Literal["unstated"] | None = None
    not_ready: NotReady | None = None
    kind: Literal["Deployment", "StatefulSet"] | None = None
    endpoint: Endpoint | Literal["none"] | None = None
    claims: dict[str, Literal["Bound", "none"]] = {}
    containers: dict[str, Container] = {}
    pod: Pod | None = None
    service: Service | None = None
    order: tuple[Order, ...] = ()


class Request(Form, frozen=True):
    """One request. Exactly one of endpoint, service and host names where it goes."""

    status: int
    endpoint: str | None = None  # of this Workload; from outside the cluster if it is Public
    service: str | None = None  # name:port, from inside the cluster
    host: str | ValueOf | None = None  # this host at the address of the endpoint of `through`
    through: str | None = None
    scheme: Literal["http", "https"] = "http"
    path: str = "/"
    method: str = "GET"
    request_headers: dict[str, str] = {}
    body_sent: str | None = None
    headers: dict[str, Text] = {}
    body: Text | None = None
    json: dict[str, Scalar | Match] = {}  # by dotted path


class Object(Form, frozen=True):
    """Objects in the namespace: all of a kind, or one by its name. `fields` by dotted path; null is an absent field."""

    kind: str
    name: str | None = None
    count: int | AtLeast | None = None
    fields: dict[str, Scalar] = {}


class Expect(Form, frozen=True):
    workloads: dict[str, Workload] = {}
    requests: tuple[Request, ...] = ()
    objects: tuple[Object, ...] = ()


# ---- steps


class Delete(Form, frozen=True):
    workload: str
    propagation: Literal["Background", "Foreground", "Orphan"] = "Background"


class Execute(Form, frozen=True):
    workload: str
    container: str
    command: tuple[str, ...]


class Step(Form, frozen=True):
    """One action, then what is found. `restart` deletes the Pods of a Workload and waits for their successors."""

    step: str
    apply: Apply | None = None
    delete: Delete | None = None
    restart: str | None = None
    run: Execute | None = None
    refused: Refused | None = None
    expect: Expect | None = None


class Expectation(Form, frozen=True):
    """A whole `expect.yaml`."""

    about: str
    covers: tuple[str, ...]
    schema: str
    score_go: str
    score_k8s: str
    decisions: tuple[str, ...] = ()
    apply: Apply = Apply()
    given: str | None = None  # objects that are there before
    needs: tuple[str, ...] = ()  # what the cluster must offer; without it only acceptance is checked
    refused: Refused | None = None
    expect: Expect | None = None
    then: tuple[Step, ...] = ()
