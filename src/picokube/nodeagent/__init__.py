"""Jobs, CronJobs and Pods of a Kubernetes API as local processes. Knows nothing of the product.

Decisions (`plan`) are pure; a supervisor process of its own keeps containers alive when the agent dies.
Imports: kubekit only.
"""
