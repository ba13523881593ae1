"""The web page: every endpoint with the hops it depends on, coloured by status, live."""
