"""The bindings family: an endpoint at the edge becomes a Service that Pods can use.

A BoundEndpoint has an upstream Service in the operator's namespace, before the forwarders. Its target Service, in the
namespace of its users, is an ExternalName, and that is one CNAME for all ports: so the BoundEndpoints of one
`service.namespace` form a group (`groups`), which makes the target and settles who may have which port. Each
BoundEndpoint's own status (`boundendpoint`) is judged from its Services, the group's report, and a probe.
"""
