"""What the suite's report comes to, in one line."""

from __future__ import annotations

from typing import Any

PROFILES = {"http": "GATEWAY-HTTP", "grpc": "GATEWAY-GRPC", "tls": "GATEWAY-TLS", "tcp": "GATEWAY-TCP"}


def passed(report: dict[str, Any], profile: str, level: str) -> str:
    """As in 37/37: what passed, of what was to be run."""
    for one in report.get("profiles") or ():
        if one["name"] == profile and level in one:
            counts = one[level].get("statistics", {})
            good = counts.get("Passed", counts.get("passed", 0))
            bad = counts.get("Failed", counts.get("failed", 0)) + counts.get("Skipped", counts.get("skipped", 0))
            return f"{good}/{good + bad}"
    return "0/0"


def last_line(report: dict[str, Any]) -> str:
    levels = [(name, profile, level) for name, profile in PROFILES.items() for level in ("core", "extended")]
    counts = " ".join(f"{name}_{level}={passed(report, profile, level)}" for name, profile, level in levels)
    return f"conformance: {counts} provisional={provisional(report)}"


def provisional(report: dict[str, Any]) -> str:
    """Tests that are new to the suite are counted apart, by the suite itself."""
    good = len(report.get("succeededProvisionalTests") or ())
    bad = len(report.get("failedProvisionalTests") or ())
    return f"{good}/{good + bad}"
