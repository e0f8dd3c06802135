"""CEL: type checks, cost estimates and evaluation of expressions, as kube-apiserver 1.35 does them."""
