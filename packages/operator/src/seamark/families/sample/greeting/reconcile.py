"""Greeting → its ConfigMap and its post. No client, no clock: the same facts always give the same result."""

from __future__ import annotations

from seamark.api.sample import ConfigMapRef, GreetingStatus
from seamark.families.sample.greeting.state import CONFIG_MAP, POSTED, PUBLISHED, READY, Post, Retract, Seen
from seamark_runtime.api.core import ConfigMap
from seamark_runtime.api.meta import Condition, ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Call, Failed
from seamark_runtime.controller import Wanted
from seamark_runtime.source import Fresh, NotYet, Stale


def desire(seen: Seen) -> Wanted:
    posted = seen.greeting.annotation(POSTED_ON)
    if seen.greeting.deleting:
        return Wanted(calls=(retract(seen, posted),), finalizer=not retracted(seen, posted)) if posted else Wanted()
    board = seen.greeting.spec.board
    if posted and posted != board and not retracted(seen, posted):
        # The old board first: the annotation that remembers it is overwritten only when nothing is left there.
        return Wanted(
            children={CONFIG_MAP: config_map(seen)},
            calls=(retract(seen, posted),),
            annotations={POSTED_ON: posted},
            finalizer=True,
        )
    if not board:
        return Wanted(children={CONFIG_MAP: config_map(seen)})
    return Wanted(
        children={CONFIG_MAP: config_map(seen)},
        calls=(post(seen),),
        annotations={POSTED_ON: board},
        finalizer=True,
    )


def judge(seen: Seen, answers: Answers) -> GreetingStatus:
    published = published_as(seen, answers)
    posted = retracting_as(seen) if seen.greeting.deleting else posted_as(seen)
    ready = READY.worst_of(published, posted, otherwise=("Ready", "The greeting is published"))
    ref = answers.ref(CONFIG_MAP)
    return GreetingStatus(
        conditions=(published, posted, ready), config_map_ref=ConfigMapRef(name=ref.name) if ref else None
    )


def published_as(seen: Seen, answers: Answers) -> Condition:
    if seen.greeting.deleting:
        return PUBLISHED.unknown("Deleting", "The greeting is being deleted")
    if refusal := answers.refusal(CONFIG_MAP):
        return PUBLISHED.false("ConfigMapTaken" if refusal.taken else "ConfigMapRefused", refusal.message)
    if answers.ref(CONFIG_MAP) is None:
        return PUBLISHED.unknown("Pending", "The ConfigMap is not made yet")
    return PUBLISHED.true("Published", "The ConfigMap holds the text")


def posted_as(seen: Seen) -> Condition:
    if not seen.greeting.spec.board:
        return POSTED.true("NoBoard", "No board is named")
    match seen.results.to(post(seen)):
        case Fresh():
            return POSTED.true("Posted", "The board shows the text")
        case Stale():
            return POSTED.unknown("NotVerified", "The board has not confirmed the text for a while")
        case Failed(message=message):
            return POSTED.false("BoardFailed", message)
        case NotYet():
            return POSTED.not_yet("Posting", "The board has not answered yet")


def retracting_as(seen: Seen) -> Condition:
    """Why a deletion is not finished, with the board's error if there is one."""
    match seen.results.to(retract(seen, seen.greeting.annotation(POSTED_ON))):
        case Failed(message=message):
            return POSTED.false("BoardFailed", message)
        case _:
            return POSTED.unknown("Retracting", "The board is asked to take the text down")


POSTED_ON = "sample.seamark.dev/posted-on"  # remembers the board across a change of the spec and a restart


def config_map(seen: Seen) -> ConfigMap:
    metadata = seen.greeting.metadata
    return ConfigMap(
        metadata=ObjectMeta(name=metadata.name, namespace=metadata.namespace), data={"text": seen.greeting.spec.text}
    )


def post(seen: Seen) -> Call[None]:
    spec = seen.greeting.spec
    return Call(
        target=f"{spec.board}/{owner(seen)}",
        action=Post(spec.board, owner(seen), spec.text),
        every=seen.verify_every,
        shelf_life=seen.shelf_life,
    )


def retract(seen: Seen, board: str) -> Call[None]:
    return Call(target=f"{board}/{owner(seen)}", action=Retract(board, owner(seen)))


def retracted(seen: Seen, board: str) -> bool:
    return isinstance(seen.results.to(retract(seen, board)), Fresh)


def owner(seen: Seen) -> str:
    """Always the same, and unique."""
    return seen.greeting.uid
