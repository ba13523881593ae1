"""The web page: every endpoint with the hops it stands on, coloured by truth, as it is now."""
