"""seamark dev: everything on this machine, as a demonstration. It ends with Ctrl-C and leaves nothing behind."""
