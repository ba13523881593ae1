"""The Kubernetes runtime publishes at which URLs a rendered Workload can be reached."""
