"""The forwarder: takes the connections of Pods, by BoundEndpoint, and brings them to the edge.

It runs beside the operator, in as many replicas as are wanted. Each follows the BoundEndpoints by itself and serves all
of them; none holds anything that another would need.
"""
