"""The bindings family: an endpoint at the edge becomes a Service that Pods can use.

- A KubernetesOperator (`installation`) is this installation: registered at the edge, with a certificate.
- The poller (`polling`) lists what the edge binds here, and makes a BoundEndpoint for each target.
- A BoundEndpoint (`reconcile`) has an upstream Service in the operator's namespace, before the forwarders. Its target
  Service, in the namespace of its users, is an ExternalName, and that is one CNAME for all ports: so the BoundEndpoints
  of one `service.namespace` form a group (`groups`), which makes the target and settles who may have which port.
- Connections that prove it all are made beside the workers (`probes`).
"""
