"""The guide's ten lines do what the guide says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.edge.running import RunningEdge
from tests.edge.sdks import python_of
from tests.edge.services import dial, read_all, says, service

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "edge.md"


def test_the_python_program_of_the_guide_reaches_a_local_service(edge: RunningEdge) -> None:
    found = re.search(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found is not None
    program = found[1]
    assert len([line for line in program.splitlines() if line.strip()]) <= 10
    with service(says(b"reached")) as upstream:
        program = program.replace("127.0.0.1:4443", edge.address).replace("127.0.0.1:8080", upstream)
        program = program.replace("edge-state", str(edge.state))
        agent = subprocess.Popen(
            [str(python_of("ngrok", "1.4.0")), "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert agent.stdout is not None
        try:
            with dial(agent.stdout.readline().strip()) as client:
                assert read_all(client) == b"reached"
        finally:
            agent.kill()
            agent.wait()
            agent.stdout.close()


def test_the_edge_prints_what_an_agent_needs(edge: RunningEdge) -> None:
    assert edge.said == [
        f"agents:    {edge.address}",
        f"ca file:   {edge.ca}",
        f"authtoken: {edge.token}",
        f"api:       {edge.api_url}",
        f"api key:   {edge.api_key}",
    ]
