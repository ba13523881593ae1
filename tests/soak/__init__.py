"""All families under churn and faults on a real control plane, for as long as somebody wants to know."""
