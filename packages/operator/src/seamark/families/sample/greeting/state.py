"""What the decisions about a Greeting are made from, and all of its conditions."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.sample import Greeting
from seamark_runtime.calls import Results
from seamark_runtime.conditions import ConditionType

CONFIG_MAP = "config map"  # the role of the one child
FINALIZER = "sample.seamark.dev/board"

PUBLISHED = ConditionType(
    "Published",
    meaning="The text is in the ConfigMap",
    reasons={
        "Published": "The API server holds the ConfigMap with this text",
        "ConfigMapRefused": "The API server refused the ConfigMap; the message has its error",
        "ConfigMapTaken": "A ConfigMap of that name exists and is not ours",
        "Deleting": "The greeting is being deleted, and its ConfigMap with it",
        "Pending": "Not verified yet",
    },
)
POSTED = ConditionType(
    "Posted",
    meaning="The board shows the text",
    reasons={
        "Posted": "The board has confirmed this text",
        "NoBoard": "No board is named, so there is nothing to post",
        "BoardFailed": "The board refused, or did not respond",
        "Posting": "The board has not responded yet",
        "NotVerified": "The board has not confirmed the text for a while",
        "Retracting": "The greeting is being deleted: the board is asked to remove the text",
        "Pending": "Not verified yet",
    },
)
READY = ConditionType(
    "Ready",
    meaning="The greeting is published, and posted where a board is named",
    reasons={"Ready": "Everything is as desired", "Pending": "Not verified yet"},
    summary=True,
)
CONDITIONS = (PUBLISHED, POSTED, READY)


@dataclass(frozen=True)
class Seen:
    greeting: Greeting
    results: Results
    shelf_life: float
    verify_every: float


@dataclass(frozen=True)
class Post:
    board: str
    owner: str
    text: str


@dataclass(frozen=True)
class Retract:
    board: str
    owner: str
