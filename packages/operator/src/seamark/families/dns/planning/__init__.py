"""The plan of a zone: what the server holds, what objects claim there → changes, and a decision about each claim."""
