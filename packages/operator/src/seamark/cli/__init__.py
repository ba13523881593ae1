"""The command line: seamark run | cluster | crds | ..."""
