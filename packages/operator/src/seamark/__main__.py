"""`python -m seamark` is the command `seamark`."""

from __future__ import annotations

from seamark.cli.main import main

main()
