"""The agent on the official SDK, as the cloud provider uses it, against a running edge."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from seamark_edge.agent import AgentSettings
from seamark_edge.agent.sdk import SdkAgent
from seamark_runtime.errors import UserError
from tests.edge.running import RunningEdge
from tests.edge.sdks import PYTHON_SDK, python_of
from tests.edge.services import dial, eventually, read_all, says, service

PROGRAM = """
import asyncio, json, sys
from seamark_runtime.errors import Refused
from seamark_edge.agent import AgentSettings, Tunnel
from seamark_edge.agent.sdk import SdkAgent

async def main():
    told = json.loads(sys.stdin.readline())
    stranger = SdkAgent(AgentSettings(told["address"], "cr_wrong", told["ca"]))
    try:
        await stranger.connect()
    except Refused as refusal:
        wrong = refusal.message
    agent = SdkAgent(AgentSettings(told["address"], told["token"], told["ca"]))
    await agent.connect()
    held = await agent.hold("one", Tunnel("tcp://", told["upstream"], metadata="through the SDK"))
    again = await agent.hold("one", Tunnel("tcp://", told["upstream"], metadata="through the SDK"))
    pooled = await agent.hold("two", Tunnel("tcp://", told["upstream"], pooling=True))
    print(json.dumps({"wrong": wrong, "url": held.url, "same": again is held, "pooled": pooled.error}), flush=True)
    sys.stdin.readline()
    await agent.release("one")
    print(json.dumps({"left": list(agent.held)}), flush=True)
    sys.stdin.readline()
    await agent.close()

asyncio.run(main())
"""


def refused(url: str) -> bool:
    try:
        dial(url).close()
    except ConnectionRefusedError:
        return True
    return False


def test_the_agent_on_the_official_sdk_holds_and_releases_tunnels(edge: RunningEdge) -> None:
    packages = next(python_of(*PYTHON_SDK).parent.parent.glob("lib/python*/site-packages"))
    path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), *sys.path, str(packages)])
    agent = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert agent.stdin is not None
    assert agent.stdout is not None

    def answer_to(word: object) -> dict[str, object]:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(json.dumps(word) + "\n")
        agent.stdin.flush()
        line = agent.stdout.readline()
        while line and not line.startswith("{"):
            line = agent.stdout.readline()
        answer: dict[str, object] = json.loads(line)
        return answer

    try:
        with service(says(b"through the SDK")) as upstream:
            told = answer_to({**edge.connection(), "upstream": upstream})
            assert "ERR_NGROK_107" in str(told["wrong"])
            assert told["same"] is True
            assert "pool" in str(told["pooled"])
            with dial(str(told["url"])) as client:
                assert read_all(client) == b"through the SDK"
            assert answer_to("release") == {"left": ["two"]}
            gone = "the edge lets go of it"  # the SDK does not wait for its answer
            eventually(lambda: refused(str(told["url"])), gone)
    finally:
        agent.kill()
        agent.wait()
        agent.stdin.close()
        agent.stdout.close()


def test_without_the_sdk_a_person_is_told_what_to_install() -> None:
    with pytest.raises(UserError, match=r"seamark\[ngrok\]"):
        SdkAgent(AgentSettings("127.0.0.1:1", "token"))
