//go:build tools

// Package etcd pins the store under the real API server. `go mod tidy` keeps its requirements.
package etcd

import _ "go.etcd.io/etcd/server/v3"
