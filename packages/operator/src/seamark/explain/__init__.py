"""Why does my endpoint not work? The chain of hops behind an object, across families, and the first that is broken."""
