"""Jobs: pods made, counted, deleted, and the verdict. `plan` decides as kube-controller-manager does."""
