"""What the published schema and score-go make of the corpus today, by the program in `score_go/`.

Needs Go and the module's registry, so it is no part of the unit tests: `python -m tests.score_files` compares, and
`--write` records.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import msgspec

from tests.score_files.corpus import ROOT, Case

PROGRAM = ROOT / "score_go"
RECORDED = re.compile(r"^(schema|score_go): .*\n", re.MULTILINE)


class Result(msgspec.Struct, frozen=True):
    """`accepted`, or `refused: ` and the reason, from each of the two."""

    schema: str
    score_go: str


def query(case: Case) -> dict[str, object]:
    """A case as the program reads it: the first command of the folder."""
    command = case.expectation.apply
    return {
        "folder": str(case.folder),
        "files": list(command.files),
        "overrides_file": command.overrides_file or "",
        "overrides": list(command.override_properties),
    }


def results(cases: list[Case]) -> dict[str, Result]:
    question = json.dumps({case.name: query(case) for case in cases})
    done = subprocess.run(
        ["go", "run", "."], cwd=PROGRAM, input=question, text=True, stdout=subprocess.PIPE, check=True
    )
    return msgspec.json.decode(done.stdout, type=dict[str, Result])


def differences(cases: list[Case], found: dict[str, Result]) -> dict[str, str]:
    """Folder → where a recorded result is not today's. Reasons may be worded otherwise, and keys come in any order."""
    wrong: dict[str, str] = {}
    for case in cases:
        recorded = Result(case.expectation.schema, case.expectation.score_go)
        today = found[case.name]
        if outcomes(recorded) != outcomes(today):
            wrong[case.name] = f"recorded is {recorded}, today it is {today}"
    return wrong


def outcomes(result: Result) -> tuple[str, str]:
    return result.schema.partition(":")[0], result.score_go.partition(":")[0]


def record(folder: Path, result: Result) -> None:
    """Writes both results into an `expect.yaml`, each in its line."""
    path = folder / "expect.yaml"
    values = {"schema": result.schema, "score_go": result.score_go}
    text = RECORDED.sub(lambda line: f"{line[1]}: {_yaml(values[line[1]])}\n", path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")


def _yaml(text: str) -> str:
    return text if text == "accepted" else json.dumps(text, ensure_ascii=False)
