"""A whole control plane: etcd, kube-apiserver and kube-controller-manager on this machine."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from seamark_cluster.real import flags
from seamark_cluster.real.audit import POLICY, AuditLog
from seamark_cluster.real.binaries import Binaries, find
from seamark_cluster.real.flags import Layout, Options, host_port
from seamark_cluster.real.pki import Pki
from seamark_cluster.real.ports import Ports
from seamark_cluster.real.process import Component
from seamark_cluster.real.ready import Probe, wait_all
from seamark_cluster.real.users import MASTERS, User, kubeconfig, token_file, write_private
from seamark_cluster.real.warden import Warden
from seamark_runtime.errors import SeamarkError, UserError

READY_WITHIN = 60.0  # for a busy machine; an idle one takes under 4 seconds
STATE = "plane.json"
FIRST_OBJECT = "/api/v1/namespaces/default/serviceaccounts/default"  # created by the controllers once they work

__all__ = ["ControlPlane", "Options", "User"]


class ControlPlane:
    """One control plane in a directory of its own.

    - `start` returns when the API server is ready and the controllers run; `stop` when all processes and the directory
      are gone. As a context manager, plain or async, it does both.
    - Several at once, in one process or many, are independent: each reserves its ports.
    - `etcd`, `api_server` and `controller_manager` can be stopped, killed and started again one by one, on the same
      ports and data. `wait_ready` returns when they are ready again.
    - It does not outlive its process, even a killed one, unless `detached`; `attach` finds a detached one.
    """

    etcd: Component
    api_server: Component
    controller_manager: Component

    def __init__(
        self, options: Options | None = None, *, directory: Path | None = None, detached: bool = False
    ) -> None:
        self.options = options or Options()
        self.admin = User("admin", (MASTERS,))
        self._controllers = User("system:kube-controller-manager", (MASTERS,))
        self.detached = detached
        self.directory = directory or Path()  # a temporary one is created at the start
        self._ports: Ports | None = None
        self._warden: Warden | None = None
        self._started = False

    def start(self) -> None:
        binaries = find()
        self._make_directory()
        if not self.detached:
            self._warden = Warden(self.directory)
        try:
            self._prepare(binaries)
            self.etcd.start()
            self.api_server.start()
            self.wait_ready()
            if self.options.controllers:  # not earlier: they would find no API server and retry a second later
                self.controller_manager.start()
                self.wait_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kills all components and removes the directory. The data are removed too, so there is no graceful stop."""
        for component in self.components:
            component.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
        if self._warden is not None:
            self._warden.dismiss()
            self._warden = None
        if self._ports is not None:
            self._ports.close()

    @classmethod
    def attach(cls, directory: Path) -> ControlPlane:
        """The control plane that was started in a directory; it may have ended since (see `components`)."""
        try:
            state = json.loads((directory / STATE).read_text())
        except FileNotFoundError:
            raise UserError(f"no control plane in {directory}", hint="`seamark cluster up` starts one") from None
        admin, controllers, *users = (User(name, tuple(groups), token) for name, groups, token in state["users"])
        plane = cls(Options(**{**state["options"], "users": tuple(users)}), directory=directory, detached=True)
        plane.admin, plane._controllers = admin, controllers
        plane._layout = Layout(directory, *state["ports"])
        plane._adopt(*state["commands"])
        return plane

    @property
    def components(self) -> tuple[Component, ...]:
        """etcd, kube-apiserver and kube-controller-manager; none before the start."""
        return (self.etcd, self.api_server, self.controller_manager) if self._started else ()

    def wait_ready(self, seconds: float = READY_WITHIN) -> None:
        """Returns when every started component is ready."""
        server = host_port(self.options.connect, self._layout.api_port)
        probes = [Probe(self.api_server, server, "/readyz")]  # anonymous, so that no user's request count changes
        if self.controller_manager.alive:
            probes.append(Probe(self.controller_manager, f"127.0.0.1:{self._layout.controllers_port}", "/healthz"))
            headers = {"Authorization": f"Bearer {self._controllers.token}"}
            probes.append(Probe(self.controller_manager, server, FIRST_OBJECT, headers))
        wait_all(probes, self.ca, seconds)

    def restart_controllers(self) -> None:
        """Makes the garbage collector discover new kinds at once; by itself it does so every 30 seconds."""
        self.controller_manager.kill()
        self.controller_manager.start()
        self.wait_ready()

    # For clients.

    @property
    def url(self) -> str:
        return f"https://{host_port(self.options.connect, self._layout.api_port)}"

    @property
    def ca(self) -> Path:
        return self.directory / "pki" / "ca.crt"

    @property
    def kubeconfig(self) -> Path:
        """All users, with a context each; the admin's is the current one."""
        return self.directory / "kubeconfig"

    @property
    def audit(self) -> AuditLog:
        return AuditLog(self._layout.audit_log)

    def user(self, name: str) -> User:
        for user in (self.admin, *self.options.users):
            if user.name == name:
                return user
        raise UserError(f"this control plane has no user {name}", hint="name the users when you start it")

    def kubeconfig_of(self, name: str) -> Path:
        """A kubeconfig with this user only."""
        path = self.directory / f"{name.replace(':', '_').replace('/', '_')}.kubeconfig"
        write_private(path, kubeconfig(self.url, self.ca, [self.user(name)]))
        return path

    def client_certificate(self, user: str, groups: Sequence[str] = ()) -> tuple[Path, Path]:
        """A certificate and key for any user, known or not: unlike tokens they can be created while it runs."""
        return Pki(self.directory / "pki").client(user, groups)

    def kubectl(self, *arguments: str, user: str = "admin", stdin: str | None = None) -> str:
        """The output of kubectl; a failure raises its error message."""
        command = [str(find().kubectl), f"--kubeconfig={self.kubeconfig}", f"--context={user}", *arguments]
        run = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise SeamarkError(run.stderr.strip() or f"kubectl ended with {run.returncode}")
        return run.stdout

    # Setting up.

    def _make_directory(self) -> None:
        if self.directory == Path():
            self.directory = Path(tempfile.mkdtemp(prefix="seamark-"))
            return
        self.directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self.directory.mkdir(mode=0o700)
        except FileExistsError:  # never into an existing directory, which `stop` would remove
            raise UserError(f"{self.directory} exists already", hint="choose a directory that does not exist") from None

    def _prepare(self, binaries: Binaries) -> None:
        self._ports = Ports(self.options.bind_address)
        ports = [self._ports.reserve() for _ in range(4)]
        self._layout = layout = Layout(self.directory, *ports)
        pki = Pki(self.directory / "pki")
        users = (self.admin, *self.options.users)
        write_private(layout.tokens, token_file((*users, self._controllers)))
        write_private(self.kubeconfig, kubeconfig(self.url, pki.ca_cert, users))
        write_private(layout.controllers_kubeconfig, kubeconfig(self.url, pki.ca_cert, [self._controllers]))
        layout.audit_policy.write_text(POLICY)
        commands = (
            flags.etcd(binaries.etcd, layout),
            flags.kube_apiserver(binaries.kube_apiserver, layout, self.options, pki),
            flags.kube_controller_manager(binaries.kube_controller_manager, layout, self.options, pki),
        )
        state = {
            "users": [(user.name, user.groups, user.token) for user in (users[0], self._controllers, *users[1:])],
            "options": {**dataclasses.asdict(self.options), "users": ()},
            "ports": ports,
            "commands": commands,
        }
        write_private(self.directory / STATE, json.dumps(state))
        self._adopt(*commands)

    def _adopt(self, *commands: Sequence[str]) -> None:
        components = [Component(self.directory, command, self._reservations) for command in commands]
        self.etcd, self.api_server, self.controller_manager = components
        self._started = True

    def _reservations(self) -> Sequence[int]:
        return self._ports.fds if self._ports is not None else ()

    def __enter__(self) -> ControlPlane:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> ControlPlane:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)
