"""The Gateway API, for every family that follows routes: its CRDs, host names, references, listeners and attachment.

Nothing here belongs to a family. Everything but `bundle` is pure, apart from what it reads through a view.
"""
