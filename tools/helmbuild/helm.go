//go:build tools

// Package helm names the program that is compiled here, so that go.mod keeps it.
package helm

import _ "helm.sh/helm/v3/cmd/helm"
