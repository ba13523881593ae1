//go:build tools

// Package suite names the programs that the suite uses, so that go.mod knows them.
package suite

import _ "sigs.k8s.io/gateway-api-conformance-images/echo-basic"
