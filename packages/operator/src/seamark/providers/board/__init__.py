"""Boards for greetings: the protocol, and boards of this process."""
