"""What measuring tools leave behind: a JSON line for each run, with its date and commit. `make report` reads them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path("build-output")
RUNS = "runs.jsonl"


def keep(folder: Path, found: Mapping[str, Any]) -> Path:
    """Adds a run to those that are in this folder already."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RUNS
    date = datetime.now(UTC).isoformat(timespec="seconds")
    with path.open("a") as out:
        out.write(json.dumps({"date": date, "commit": commit(), **found}) + "\n")
    return path


def commit() -> str:
    """What was measured; `+` if something was changed since. Empty where there is no repository."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()
