"""Credential plugins of a kubeconfig (`exec`): one run, which never outlives its deadline.

- However the run ends (an answer, a failure, the caller's deadline), the plugin is killed and reaped before `run`
  returns, together with its process group.
- Only where there is a terminal to ask a person on, and the kubeconfig allows it, does the plugin share our group:
  the terminal belongs to that group. Then the plugin alone is killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from seamark_runtime.untrusted.decoding import Malformed, decode_plain_json


class PluginFailed(Exception):
    """Why there are no credentials. What the plugin printed is not part of it: it may be a secret."""


@dataclass(frozen=True)
class Plugin:
    """What a kubeconfig says of a plugin."""

    api_version: str
    command: Sequence[str]
    environment: Mapping[str, str]
    may_prompt: bool = False  # whether it may ask a person, if there is a terminal

    @staticmethod
    def parse(config: Mapping[str, Any]) -> Plugin:
        for key in ("command", "apiVersion"):
            if not isinstance(config.get(key), str):
                raise PluginFailed(f"exec.{key} is missing")
        try:
            arguments = [str(argument) for argument in config.get("args") or ()]
            environment = {str(entry["name"]): str(entry["value"]) for entry in config.get("env") or ()}
        except (KeyError, TypeError):
            raise PluginFailed("exec.args must be a list of texts, exec.env one of names with values") from None
        may_prompt = config.get("interactiveMode") != "Never"
        return Plugin(config["apiVersion"], (config["command"], *arguments), environment, may_prompt)

    async def run(self) -> dict[str, Any]:
        """The `status` of its answer: a token, or a certificate with its key."""
        interactive = self.may_prompt and sys.stdin is not None and sys.stdin.isatty()
        request = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": {"interactive": interactive}}
        environment = {**os.environ, **self.environment, "KUBERNETES_EXEC_INFO": json.dumps(request)}
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *self.command,
                env=environment,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                start_new_session=not interactive,
            )
        )
        try:
            process = await asyncio.shield(starting)
        except (OSError, ValueError) as error:
            raise PluginFailed(f"{self.command[0]} can't be started ({error})") from None
        except asyncio.CancelledError:  # it may run already, and have children
            with suppress(OSError, ValueError):
                await _end(await starting, group=not interactive)
            raise
        try:
            output, _ = await process.communicate()
        finally:
            await _end(process, group=not interactive)
        if process.returncode:
            raise PluginFailed(f"{self.command[0]} ended with {process.returncode}")
        return self._status(output)

    def _status(self, output: bytes) -> dict[str, Any]:
        try:
            answer = decode_plain_json(output)
        except Malformed:
            raise PluginFailed(f"{self.command[0]} gave no JSON") from None
        status = answer.get("status") if isinstance(answer, dict) else None
        if not isinstance(status, dict):
            raise PluginFailed(f"{self.command[0]} gave no ExecCredential with a status")
        if answer.get("apiVersion") != self.api_version:
            raise PluginFailed(f"{self.command[0]} gave another apiVersion than {self.api_version}")
        return status


async def _end(process: asyncio.subprocess.Process, *, group: bool) -> None:
    """Kills what is left, and waits for the plugin itself. The id of its group stays taken while anything is left."""
    with suppress(ProcessLookupError):  # nothing is left
        if group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    await process.wait()
