"""Rules of routes and settings of policies, compiled for the data plane."""
