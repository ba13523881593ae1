"""Every command that a page shows does what the page says, as it stands there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.docs.reading import Command, Save, Step, steps
from tests.docs.shell import Shell, difference
from tests.docs.worlds import Words, World, after_external_dns, cluster, dev, with_an_edge, with_name_server, with_ports
from tools.setup import ROOT

# What can't be run here, by the beginning of the command; and why.
NOT_HERE = {
    "make test": "it would run itself",
    "docker": "there is no container engine here",
    "helm": "there is no Helm here; tests/install tries what the chart makes on a real control plane",
    "make run": "tests/cluster/test_dev.py starts what it starts; its set-up is that of the stage",
}
# The same for single pages.
NOT_HERE_ON = {
    "docs/guides/cluster.md": {
        "seamark cluster kubelet": "tests/cluster/test_kubelet.py does, in a network of its own"
    },
    "docs/guides/install.md": {
        "seamark status": "it comes after what Helm would have installed",
        "cat kustomization.yaml": "the file is the reader's own",
        "kubectl": "it needs the image; tests/install applies deploy/ on a real control plane",
    },
    "docs/guides/loadbalancer.md": {
        "curl": "the agent would have to run in a Pod; tests/cluster/test_loadbalancer_whole.py has it there",
        "SEAMARK_LB_DRAIN": "the operator of before would have to be stopped",
    },
}
WORLDS: dict[str, World] = {
    "README.md": dev,
    "docs/guides/explain.md": dev,
    "docs/guides/bindings.md": with_ports,
    "docs/guides/dns.md": with_name_server,
    "docs/guides/edge.md": with_ports,
    "docs/guides/loadbalancer.md": with_ports,
    "docs/migration/external-dns.md": after_external_dns,
    "docs/migration/ngrok-operator.md": with_an_edge,
}
GIVEN = Path(__file__).parent / "given"  # what was there before, by the name of the page
PAGES = [ROOT / "README.md", ROOT / "docs" / "concepts.md"]
PAGES += [page for folder in ("guides", "migration") for page in sorted((ROOT / "docs" / folder).glob("*.md"))]
WITH_COMMANDS = {
    str(page.relative_to(ROOT)): page for page in PAGES if any(isinstance(one, Command) for one in steps(page))
}


def reason(page: str, command: Command) -> str:
    """Why it is not run; empty if it is."""
    known = NOT_HERE | NOT_HERE_ON.get(page, {})
    return next((why for begin, why in known.items() if command.text.startswith(begin)), "")


@contextmanager
def followed(page: str, directory: Path) -> Iterator[tuple[Shell, Words]]:
    """A directory with the repository's examples, and what the page takes for granted."""
    for name in ("examples", "docs"):
        (directory / name).symlink_to(ROOT / name)
    with WORLDS.get(page, cluster)(directory) as (environment, words):
        shell = Shell(directory, environment)
        try:
            if (given := GIVEN / f"{Path(page).stem}.sh").exists():
                shell.follow(Command(f"bash -e {given}", (), 0))
            yield shell, words
        finally:
            shell.close()


def here(step: Step, words: Words) -> Step:
    """With this machine's words in the place of the page's."""

    def said(text: str) -> str:
        for theirs, ours in words.items():
            text = text.replace(theirs, ours)
        return text

    if isinstance(step, Save):
        return Save(step.name, said(step.text), step.line)
    return Command(said(step.text), tuple(said(line) for line in step.shown), step.line)


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_every_command_of_a_page_does_what_the_page_says(page: str, tmp_path: Path) -> None:
    with followed(page, tmp_path) as (shell, words):
        for step in steps(WITH_COMMANDS[page]):
            if isinstance(step, Save):
                saved = here(step, words)
                assert isinstance(saved, Save)
                (tmp_path / saved.name).write_text(saved.text)
            elif not reason(page, step):
                wanted = here(step, words)
                assert isinstance(wanted, Command)
                shell.follow(wanted)


def test_nothing_is_left_out_for_a_reason_that_has_passed() -> None:
    every = [(page, one) for page in WITH_COMMANDS for one in steps(WITH_COMMANDS[page]) if isinstance(one, Command)]
    for begin in NOT_HERE:
        assert any(one.text.startswith(begin) for _, one in every), begin
    for of, known in NOT_HERE_ON.items():
        for begin in known:
            assert any(page == of and one.text.startswith(begin) for page, one in every), (of, begin)


def test_what_a_page_shows_is_compared_loosely() -> None:
    shown = (
        "NAME   READY   AGE",
        "www    True    5s",
        "tcp://127.0.0.1:20417",
        "id 6db1fb21-e1c0-5c8c-b6a1-c9599c6a74c1",
    )
    said = "NAME READY AGE\nwww  True  1m12s\ntcp://127.0.0.9:1\nid 00000000-0000-0000-0000-000000000000\n"
    assert not difference(shown, said)
    assert "www" in difference(shown, said.replace("True", "False"))
    assert "tcp" in difference(shown, said.replace("tcp", "udp"))
    assert not difference(("key …", "… end"), "key abc\nthe end")
