"""Score files with what a user sees after they are applied; written from the specification alone (README.md)."""
