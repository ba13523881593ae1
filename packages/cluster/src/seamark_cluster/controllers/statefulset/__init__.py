"""StatefulSet → Pods with stable names, in order."""
