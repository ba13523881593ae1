"""An installation's life in a cluster: its kinds and secrets are put there, it is looked at, and it leaves.

- `definitions`: CustomResourceDefinitions, never replacing a foreign or newer one.
- `secrets`: the certificates and first keys that its parts show each other.
- `leaving`: everything is released before an uninstall.
- `bundle`: what a user sends to support.
"""
