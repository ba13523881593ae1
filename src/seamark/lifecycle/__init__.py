"""An installation's life in a cluster: its kinds and secrets are put there, it is looked at, and it leaves.

- `definitions`: CustomResourceDefinitions, never in the place of somebody else's or a newer one.
- `secrets`: the certificates and first keys that its parts show each other.
- `leaving`: before an uninstall everything is let go.
- `bundle`: what a person sends to whoever helps them.
"""
