"""The bindings family: an endpoint at the edge becomes a Service that Pods can use.

- `kubernetesoperator`: this installation, registered at the edge, with a certificate.
- `poll`: what the edge lists for this installation becomes projections, one for each target.
- `projection`: each projection becomes a BoundEndpoint.
- `boundendpoint`: its upstream Service is in the operator's namespace, in front of the forwarders. Its target Service,
  in the namespace of its users, is an ExternalName, and that is one CNAME for all ports: so the BoundEndpoints of one
  `service.namespace` form a group (`bindinggroup`), which makes the target and decides who has which port.
- `remote`: requests to the edge, and connections that verify a binding.
"""
