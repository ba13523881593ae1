# The kinds are there, and a Gateway of kgateway's with a route and a policy.
seamark gateway crds | kubectl apply --server-side -f -
seamark crds TrafficPolicy | kubectl apply -f -
kubectl apply -f examples/gateway/web.yaml
