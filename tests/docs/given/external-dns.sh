# ExternalDNS runs (what stands for it here is only there to be stopped), and has made a record for an object.
kubectl create namespace external-dns
kubectl -n external-dns create deployment external-dns --image=seamark.dev/echo
seamark crds DNSEndpoint | kubectl apply -f -
kubectl apply -f - <<END
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: www, namespace: default}
spec:
  endpoints:
    - {dnsName: www.$ZONE, recordType: A, targets: [192.0.2.1], recordTTL: 300}
END
