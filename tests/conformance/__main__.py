"""Runs the suite: python -m tests.conformance [--profile P]… [--test NAME]… [--keep DIR]

The last line has what passed of what was to pass; the report of each profile is kept as a file.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import yaml

from seamark.families.gateway.gatewayclass.features import SUPPORTED
from tests.conformance.machine import Bench, running
from tests.conformance.report import PROFILES, last_line
from tests.conformance.suite import built

USABLE, UNUSABLE = "172.30.200.1", "203.0.113.5"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    parser.add_argument("--profile", action="append", choices=list(PROFILES.values()), help="only this profile")
    parser.add_argument("--test", default="", help="only this test")
    parser.add_argument("--keep", type=Path, default=Path("build-output/conformance"), help="where reports are kept")
    parser.add_argument("--debug", action="store_true")
    asked = parser.parse_args()
    asked.keep.mkdir(parents=True, exist_ok=True)
    suite, backend = built()
    report = asked.keep / "report.yaml"
    report.unlink(missing_ok=True)
    with running(backend, asked.keep / "operator.log") as bench:
        code = run(bench, suite, report, asked)
    found = yaml.safe_load(report.read_text()) if report.exists() else {}
    print(last_line(found))  # noqa: T201
    return code


def run(bench: Bench, suite: Path, report: Path, asked: argparse.Namespace) -> int:
    command = [
        str(suite),
        "-test.v",
        "-test.timeout=60m",
        "--gateway-class=kgateway",
        f"--conformance-profiles={','.join(asked.profile or PROFILES.values())}",
        f"--supported-features={','.join(SUPPORTED)}",
        f"--report-output={report.resolve()}",
        f"--usable-address={USABLE}",
        f"--unusable-address={UNUSABLE}",
        *("--organization=seamark", "--project=seamark", "--url=https://seamark.dev", "--version=0.1.0"),
        "--contact=maintainers@seamark.dev",
        *((f"--run-test={asked.test}",) if asked.test else ()),
        *(("--debug",) if asked.debug else ()),
    ]
    environment = {**os.environ, "KUBECONFIG": str(bench.plane.kubeconfig)}
    with (report.parent / "suite.log").open("wb") as out:
        return subprocess.run(command, env=environment, stdout=out, stderr=out, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
