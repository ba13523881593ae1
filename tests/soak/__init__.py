"""All families under churn and faults on a real control plane, for as long as wanted."""
