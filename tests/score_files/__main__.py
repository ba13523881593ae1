"""Compares the recorded results with those of the published schema and score-go, and README.md with the folders.

`--write` records both anew. Needs Go; see references.py.
"""

from __future__ import annotations

import argparse
import sys

from tests.score_files.corpus import load
from tests.score_files.coverage import README, readme
from tests.score_files.references import differences, record, results


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.score_files", description=__doc__)
    parser.add_argument("--write", action="store_true", help="record the results and write README.md")
    arguments = parser.parse_args()
    found = results(load())
    wrong = differences(load(), found)
    text = README.read_text(encoding="utf-8")
    if arguments.write:
        for case in load():
            if case.name in wrong:
                record(case.folder, found[case.name])
        README.write_text(readme(load(), text), encoding="utf-8")
        wrong = differences(load(), found)
    elif readme(load(), text) != text:
        wrong["README.md"] = "it is not what the folders give: run python -m tests.score_files --write"
    for name, line in wrong.items():
        sys.stdout.write(f"{name}: {line}\n")
    sys.stdout.write(f"score-files: folders={len(found)} differences={len(wrong)}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
