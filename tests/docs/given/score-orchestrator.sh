# The Go orchestrator runs (what stands for it here is only there to be stopped), and has a Workload with its Deployment.
kubectl create namespace score-system
kubectl -n score-system create deployment score-orchestrator --image=seamark.dev/echo
kubectl create namespace demo
seamark crds Workload ResourceClaim WorkloadPlan WorkloadExposure | kubectl apply -f -
kubectl apply -f - <<END
apiVersion: score.dev/v1b1
kind: Workload
metadata: {name: hello, namespace: demo}
spec:
  containers: {main: {image: "seamark.dev/echo:v1"}}
  service: {ports: [{name: web, port: 80, targetPort: 3000}]}
END
kubectl -n demo create deployment hello --image=seamark.dev/echo
