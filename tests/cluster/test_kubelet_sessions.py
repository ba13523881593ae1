"""kubectl talks with programs of Pods: exec and attach, on a real control plane."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from seamark_cluster.real.binaries import find
from tests.cluster.kubelet_machine import Machine, a_pod, processes, python, running_machine
from tests.cluster.requests import eventually

SPACE = "talks"


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with running_machine() as one:
        one.namespace(SPACE)
        one.apply(a_pod("echo", {"env": [{"name": "COLOUR", "value": "blue"}]}), namespace=SPACE)
        eventually(lambda: one.ready(SPACE, "echo"), "it runs", 60)
        yield one


def kubectl(machine: Machine, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    plane = machine.plane
    command = [str(find().kubectl), f"--kubeconfig={plane.kubeconfig}", "-n", SPACE, *arguments]
    return subprocess.run(command, input=given, capture_output=True, check=False, timeout=120)


def test_a_command_runs_in_the_surroundings_of_a_container(machine: Machine) -> None:
    done = kubectl(machine, "exec", "echo", "--", "sh", "-c", "echo $COLOUR; echo no >&2; ip -o -4 address show eth0")
    assert done.returncode == 0, done.stderr
    said = done.stdout.decode().splitlines()
    assert said[0] == "blue"
    assert machine.pod(SPACE, "echo")["status"]["podIP"] in said[1]
    assert done.stderr == b"no\n"


def test_its_exit_code_is_told(machine: Machine) -> None:
    done = kubectl(machine, "exec", "echo", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert b"exit code 3" in done.stderr


def test_a_megabyte_goes_in_and_comes_back_as_it_was(machine: Machine) -> None:
    given = bytes(range(256)) * 4096
    done = kubectl(machine, "exec", "-i", "echo", "--", "cat", given=given)
    assert done.returncode == 0, done.stderr
    assert done.stdout == given


def test_a_command_ends_with_whoever_asked_for_it(machine: Machine) -> None:
    plane = machine.plane
    where = [f"--kubeconfig={plane.kubeconfig}", "-n", SPACE, "exec", "echo", "--", "sleep", "98765"]
    asking = subprocess.Popen([str(find().kubectl), *where])
    try:
        eventually(lambda: len(processes("sleep\x0098765")) > 1, "it runs", 60)
    finally:
        asking.kill()
        asking.wait(30)
    eventually(lambda: not processes("sleep\x0098765"), "nothing of it is left", 60)


def test_input_goes_to_a_program_that_waits_for_it_and_its_words_come_back(machine: Machine) -> None:
    code = "import sys; print('heard', sys.stdin.read().strip())"
    container = {"stdin": True, "stdinOnce": True}
    machine.apply(python("listens", code, container), namespace=SPACE)
    eventually(lambda: machine.pod(SPACE, "listens")["status"]["phase"] == "Running", "it runs", 60)
    done = kubectl(machine, "attach", "-i", "listens", given=b"a word\n")
    assert done.returncode == 0, done.stderr
    assert b"heard a word" in done.stdout
    assert machine.ended(SPACE, "listens", 60).strip() == "heard a word"


def test_what_does_not_run_is_told(machine: Machine) -> None:
    done = kubectl(machine, "exec", "nobody", "--", "true")
    assert done.returncode == 1
    assert b'pods "nobody" not found' in done.stderr
