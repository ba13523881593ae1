"""Errors named for the reaction they call for. The loop has one `match` over them.

| class     | what happened                                        | what the loop does                              |
|-----------|------------------------------------------------------|-------------------------------------------------|
| Retry     | the server or the way to it failed for now           | again, with backoff (or Retry-After)            |
| Uncertain | a write was sent, no answer came: it may have landed | again, from a fresh observation                 |
| Conflict  | the object changed since it was read                 | again, once the cache has caught up             |
| Exists    | the name is taken                                    | look whose it is; never write into it           |
| Gone      | the object does not exist                            | for a delete that is success                    |
| Expired   | the resourceVersion is too old, or of another past   | list again                                      |
| Refused   | the server understood and refused                    | report its error, again with backoff            |
| Fenced    | we are not the leader any more                       | stop; nothing was sent                          |
| Terminal  | this object can't be worked on until it changes      | tell, and wait for a change                     |
"""

from __future__ import annotations


class SeamarkError(Exception):
    """Everything that this program raises on purpose."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Retry(SeamarkError):
    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Uncertain(Retry):
    pass


class Conflict(SeamarkError):
    pass


class Exists(SeamarkError):
    pass


class Gone(SeamarkError):
    """`name`: the object that the server did not find; empty where it does not serve the kind, or the path."""

    def __init__(self, message: str, *, name: str = "") -> None:
        super().__init__(message)
        self.name = name


class Expired(SeamarkError):
    pass


class Refused(SeamarkError):
    """The server's own words, with the fields it named."""

    def __init__(self, message: str, *, reason: str = "", code: int = 0, fields: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.reason = reason
        self.code = code
        self.fields = fields


class Fenced(SeamarkError):
    pass


class Terminal(SeamarkError):
    pass


class UserError(SeamarkError):
    """A mistake that a person can mend: what is wrong, and what to do. Shown as one line, exit code 2."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(f"{message}: {hint}" if hint else message)
        self.hint = hint
