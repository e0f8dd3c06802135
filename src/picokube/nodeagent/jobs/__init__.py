"""Reconciles Jobs as kube-controller-manager does: creates, counts and deletes pods, and sets the Job's conditions."""
