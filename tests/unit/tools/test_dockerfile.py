"""The Dockerfile keeps what it promises: pinned, small, not root."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatch

from tools.setup import ROOT


def instructions() -> Iterator[tuple[str, str]]:
    """Each instruction with its arguments, lines joined, comments left out."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name, rest.strip()


def stages() -> list[list[tuple[str, str]]]:
    found: list[list[tuple[str, str]]] = [[]]
    for one in instructions():
        if one[0] == "FROM":
            found.append([])
        found[-1].append(one)
    return found


def test_every_base_is_named_by_a_digest_that_has_to_be_given() -> None:
    bases = [rest.split(" AS ")[0] for name, rest in instructions() if name == "FROM"]
    assert len(bases) == 2
    assert all(re.search(r"@\$\{PYTHON_DIGEST(:\?\S+)?\}$", base) for base in bases)
    assert ("ARG", "PYTHON_DIGEST") in list(instructions())  # without a default


def test_packages_are_checked_by_their_hashes_and_are_those_of_the_lock() -> None:
    installs = [rest for name, rest in instructions() if name == "RUN" and "pip install" in rest]
    assert installs
    assert all("--require-hashes" in rest and "run.lock" in rest for rest in installs)


def test_what_runs_is_nobody_and_has_no_tools_to_build_with() -> None:
    last = stages()[-1]
    users = [rest for name, rest in last if name == "USER"]
    assert users
    assert all(int(part) > 0 for part in users[-1].split(":"))
    assert not [rest for name, rest in last if name in ("RUN", "ADD")]
    assert [name for name, _ in last].index("USER") < [name for name, _ in last].index("ENTRYPOINT")


def test_the_user_is_the_charts() -> None:
    chart = (ROOT / "charts" / "seamark" / "templates" / "_pods.tpl").read_text()
    user = next(rest for name, rest in stages()[-1] if name == "USER").split(":")[0]
    assert f"runAsUser: {user}" in chart


def test_the_entry_point_gets_signals_itself() -> None:
    entry = next(rest for name, rest in instructions() if name == "ENTRYPOINT")
    assert json.loads(entry)[-2:] == ["-m", "seamark"]
    assert (ROOT / "packages" / "operator" / "src" / "seamark" / "__main__.py").exists()


def test_what_is_copied_is_there_and_is_all_that_is_sent() -> None:
    copied = [rest.split()[0] for name, rest in instructions() if name == "COPY" and not rest.startswith("--from")]
    assert copied
    assert all((ROOT / path).exists() for path in copied)
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == "*"
    allowed = [line[1:] for line in lines if line.startswith("!")]
    assert all(any(fnmatch(path, pattern) for pattern in allowed) for path in copied)
    assert sorted(allowed) == sorted(copied)
