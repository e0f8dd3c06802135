//go:build tools

// Package kubeconform pins the checker of manifests. `go mod tidy` keeps its requirements.
package kubeconform

import _ "github.com/yannh/kubeconform/cmd/kubeconform"
