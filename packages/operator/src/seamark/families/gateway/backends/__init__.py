"""The backends of routes, each once however many routes share it: whether one of its endpoints accepts connections."""
