# The Go operator runs (what stands for it here is only there to be stopped), and a Service has an address of its.
kubectl create namespace ngrok-operator
for name in ngrok-operator-manager ngrok-operator-agent; do
  kubectl -n ngrok-operator create deployment $name --image=seamark.dev/echo
done
seamark crds BoundEndpoint KubernetesOperator | kubectl apply -f -
kubectl apply -f - <<END
apiVersion: ngrok.k8s.ngrok.com/v1alpha1
kind: KubernetesOperator
metadata: {name: ngrok-operator, namespace: ngrok-operator}
spec:
  binding: {endpointSelectors: ["true"]}
---
apiVersion: v1
kind: Service
metadata:
  name: shop
  namespace: default
  finalizers: [k8s.ngrok.com/finalizer]
  annotations: {k8s.ngrok.com/computed-url: "tcp://$RESERVED"}
spec:
  type: LoadBalancer
  loadBalancerClass: ngrok
  selector: {app: shop}
  ports: [{port: 80, targetPort: 3000}]
END
