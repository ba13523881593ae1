"""seamark dev: everything on this machine, to look at. It ends with Ctrl-C and leaves nothing behind."""
