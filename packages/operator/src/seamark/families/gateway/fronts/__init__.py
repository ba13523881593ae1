"""Before Envoys of this machine: a Service for each gateway, at which it is reached."""
