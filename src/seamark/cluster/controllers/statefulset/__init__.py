"""StatefulSet → Pods with names that stay, one after the other."""
