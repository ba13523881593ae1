"""Edges behind one protocol: Seamark's own, ngrok's cloud, and one in memory."""
