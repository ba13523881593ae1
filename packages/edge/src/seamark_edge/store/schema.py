"""Which versions of a schema this program works with.

- A database of an older version is migrated when it is opened, in one transaction: it has the old schema, or the new
  one.
- A database that is newer by one version is used as it is. So replicas are upgraded, or taken back, one by one.
- That is why a migration only adds: tables, indexes that hold for the rows of an older program, and columns with a
  default. What no program needs any more is removed by the migration after the next.
- Every other version is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from seamark_runtime.errors import UserError


def missing(what: str, found: int, known: int) -> range:
    """The numbers of the migrations that are still to be made, from 1; refuses a database of another version."""
    if found > known + 1:
        raise UserError(
            f"{what} has schema version {found}, this program knows {known} and can use {known + 1}",
            hint="run a newer seamark",
        )
    if found < 0:
        raise UserError(f"{what} is no state of an edge", hint=f"its schema version is {found}")
    return range(found + 1, known + 1)


def half_migrated(what: str, reason: str) -> UserError:
    return UserError(f"the schema of {what} is half migrated ({reason})", hint="restore a copy of the state")


def check_columns(what: str, wanted: Mapping[str, Iterable[str]], found: Mapping[str, Set[str]]) -> None:
    """Refuse a database that lacks a table or column of its version."""
    for table, columns in wanted.items():
        if table not in found:
            raise half_migrated(what, f"it has no table {table}")
        for column in columns:
            if column not in found[table]:
                raise half_migrated(what, f"the table {table} has no column {column}")
