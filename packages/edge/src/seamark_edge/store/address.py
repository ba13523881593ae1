"""Where a state is kept: a file, or a PostgreSQL database by its URL."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from seamark_runtime.errors import UserError

SCHEMES = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class Address:
    """The URL of a database. `str` shows it without a password; nothing else of it may be logged.

    `password_file` has the password, read for each connection. Without one it is that of the variable PGPASSWORD or of
    the file that PGPASSFILE names.
    """

    url: str = field(repr=False)
    password_file: str = field(default="", repr=False)

    def __str__(self) -> str:
        scheme, _, rest = self.url.partition("://")
        authority, slash, path = rest.partition("?")[0].partition("/")
        user, at, host = authority.rpartition("@")
        return f"{scheme}://{user.partition(':')[0]}{at}{host}{slash}{path}"

    def password(self) -> str | None:
        if not self.password_file:
            return None
        try:
            return Path(self.password_file).read_text().strip()
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise UserError(f"the password file {self.password_file} can't be read", hint=reason or "") from None


def is_database(text: str) -> bool:
    """Whether this names a database, and not a file; refuses the URL of anything else."""
    if text.startswith(SCHEMES):
        return True
    if "://" in text:
        scheme = text.partition("://")[0][:20]
        raise UserError(
            f"{scheme}:// names no store",
            hint="write postgresql://user@host:port/database, or name a file with --state",
        )
    return False
