//go:build tools

// Package rollouts pins the controller of Argo Rollouts. `go mod tidy` keeps its requirements.
package rollouts

import _ "github.com/argoproj/argo-rollouts/cmd/rollouts-controller"
