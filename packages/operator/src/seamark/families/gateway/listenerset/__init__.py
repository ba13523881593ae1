"""ListenerSet: its status, judged from the view of its gateway."""
