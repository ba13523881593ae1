"""A real control plane for tests.

- `control_plane`: one for the whole session (one for each worker). Share it: stay in your own `namespace`, and never
  stop a part of it.
- `own_plane`: a fresh one for this test alone, which may stop, kill and break it as it likes.
- `cluster`: the `namespace` for tests of Score, with the family at work (`at_work`).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from seamark.families.score.family import CRDS as SCORE
from seamark_cluster.real.plane import ControlPlane, Options, User
from seamark_cluster.real.users import MASTERS
from tests.cluster.bindings_world import Bindings, installation
from tests.cluster.recorder import Recorder, recorded
from tests.cluster.requests import install
from tests.cluster.requests import request as ask
from tests.cluster.rights import OPERATOR, refused
from tests.cluster.score_kubernetes import Kubernetes
from tests.cluster.score_operator import Running, running, truthful

# The operator may do what its declarations call for (tests/cluster/rights.py), and no test may see it refused.
USERS = (User(OPERATOR), User("counted", (MASTERS,)), User("alice"), User("bob", ("developers",)), User("carol"))


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    with ControlPlane(Options(users=USERS)) as plane:
        yield plane
        assert refused(plane.audit.entries(), OPERATOR) == []


@pytest.fixture
def own_plane() -> Iterator[ControlPlane]:
    with ControlPlane(Options(users=USERS)) as plane:
        yield plane


@pytest.fixture
def status_rules(control_plane: ControlPlane, namespace: str, request: pytest.FixtureRequest) -> Iterator[Recorder]:
    """Records every state of the kind that the module names in `RESOURCE`, and judges them all at the end."""
    with recorded(control_plane, request.module.RESOURCE, namespace=namespace) as recorder:
        yield recorder


@pytest.fixture(scope="module")
def at_work(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Running]:
    """The Score family with the `controllers()` of the module, for all of its tests."""
    for crd in SCORE:
        install(control_plane, crd)
    with running(control_plane, request.module.controllers()) as operator:
        yield operator


@pytest.fixture
def cluster(at_work: Running, control_plane: ControlPlane, namespace: str) -> Iterator[Kubernetes]:
    """Every status of the Workloads in it is checked by the rules of status."""
    with truthful(control_plane, namespace):
        yield Kubernetes(control_plane, namespace)


@contextmanager
def new_namespace(plane: ControlPlane, prefix: str) -> Iterator[str]:
    name = f"{prefix}-{secrets.token_hex(4)}"
    made = ask(plane, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    assert made.code == 201, made.body
    yield name
    ask(plane, "DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace of this test's own."""
    with new_namespace(control_plane, "test") as name:
        yield name


@pytest.fixture
def users(control_plane: ControlPlane) -> Iterator[str]:
    """Another one, of people who use what is installed in `namespace`."""
    with new_namespace(control_plane, "users") as name:
        yield name


@pytest.fixture
def world(control_plane: ControlPlane, namespace: str, users: str) -> Iterator[Bindings]:
    """The bindings family, installed in `namespace`."""
    with installation(control_plane, namespace, users) as bindings:
        bindings.install()
        yield bindings
