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
    levels = [
        ("http_core", "GATEWAY-HTTP", "core"),
        ("http_extended", "GATEWAY-HTTP", "extended"),
        ("grpc", "GATEWAY-GRPC", "core"),
        ("tls", "GATEWAY-TLS", "core"),
        ("tcp", "GATEWAY-TCP", "core"),
    ]
    line = "conformance: " + " ".join(f"{name}={passed(report, *level)}" for name, *level in levels)
    return f"{line} provisional={provisional(report)}"


def provisional(report: dict[str, Any]) -> str:
    """Tests that are new to the suite are counted apart, by the suite itself."""
    good = len(report.get("succeededProvisionalTests") or ())
    bad = len(report.get("failedProvisionalTests") or ())
    return f"{good}/{good + bad}"
