"""What registrar and mirror agree on: how to tell a runtime's new words from its old ones."""

from __future__ import annotations

import hashlib

import msgspec

from seamark.api.score import WorkloadExposureStatus

STATUS_BEFORE = "score.dev/status-before"  # a digest of the runtime's status when the spec was last written


def digest(status: WorkloadExposureStatus | None) -> str:
    """The same for the same status of a runtime; empty while it has none."""
    if status is None or status == WorkloadExposureStatus():
        return ""
    return hashlib.sha256(msgspec.json.encode(status)).hexdigest()[:32]
