"""seamark console, as a process that is asked to stop."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seamark_runtime.signals import STOP
from tests.cluster.embedded_cluster import running_cluster
from tests.edge.services import free_port

COMMAND = [sys.executable, "-c", "from seamark.cli.main import main; main()", "console"]


@pytest.mark.parametrize("number", STOP)
def test_a_stop_signal_ends_it_within_seconds(tmp_path: Path, number: signal.Signals) -> None:
    with running_cluster(tmp_path) as cluster:
        address = f"127.0.0.1:{free_port()}"
        command = [*COMMAND, "--address", address, "--kubeconfig", str(cluster.cluster.kubeconfig)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            try:
                assert running.stdout is not None
                assert address in running.stdout.readline()
                running.send_signal(number)
                output, errors = running.communicate(timeout=5)
            finally:
                running.kill()
    assert (running.returncode, output, errors) == (0, "", "")
