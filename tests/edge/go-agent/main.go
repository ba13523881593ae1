// An agent for the tests, on the unmodified official SDK: commands as JSON lines in, answers as JSON lines out.
package main

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"golang.ngrok.com/ngrok/v2"
	"golang.ngrok.com/ngrok/v2/rpc"
)

type command struct {
	Op         string
	Address    string
	Token      string
	CA         string
	URL        string
	Upstream   string
	Pooling    bool
	Metadata   string
	Policy     string
	Bindings   []string
	ProxyProto string
	ID         string
}

type program struct {
	agent     ngrok.Agent
	forwards  map[string]ngrok.EndpointForwarder
	lastError string
}

func main() {
	p := &program{forwards: map[string]ngrok.EndpointForwarder{}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			say(nil, err)
			continue
		}
		say(p.do(c))
	}
}

func say(answer map[string]any, err error) {
	if err != nil {
		answer = map[string]any{"error": err.Error()}
	}
	line, _ := json.Marshal(answer)
	fmt.Println(string(line))
}

func (p *program) do(c command) (map[string]any, error) {
	switch c.Op {
	case "connect":
		return p.connect(c)
	case "forward":
		return p.forward(c)
	case "close":
		endpoint, ok := p.forwards[c.ID]
		if !ok {
			return nil, fmt.Errorf("no endpoint %s", c.ID)
		}
		return map[string]any{}, endpoint.Close()
	case "disconnect":
		return map[string]any{}, p.agent.Disconnect()
	}
	return nil, fmt.Errorf("unknown command %s", c.Op)
}

func (p *program) connect(c command) (map[string]any, error) {
	pool := x509.NewCertPool()
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, err
	}
	pool.AppendCertsFromPEM(pem)
	p.agent, err = ngrok.NewAgent(
		ngrok.WithAuthtoken(c.Token),
		ngrok.WithAgentConnectURL(c.Address),
		ngrok.WithAgentConnectCAs(pool),
		ngrok.WithRPCHandler(func(context.Context, ngrok.AgentSession, rpc.Request) ([]byte, error) { return nil, nil }),
		ngrok.WithEventHandler(func(e ngrok.Event) {
			if gone, ok := e.(*ngrok.EventAgentDisconnected); ok && gone.Error != nil {
				p.lastError = gone.Error.Error()
			}
		}),
	)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	done := make(chan error, 1)
	// The session lives as long as the context that it is made with, so the deadline is on our side only.
	go func() { done <- p.agent.Connect(context.Background()) }()
	select {
	case err := <-done:
		return map[string]any{}, err
	case <-ctx.Done():
		return nil, fmt.Errorf("not connected: %s", p.lastError)
	}
}

func (p *program) forward(c command) (map[string]any, error) {
	options := []ngrok.EndpointOption{ngrok.WithURL(c.URL), ngrok.WithPoolingEnabled(c.Pooling)}
	if c.Metadata != "" {
		options = append(options, ngrok.WithMetadata(c.Metadata))
	}
	if c.Policy != "" {
		options = append(options, ngrok.WithTrafficPolicy(c.Policy))
	}
	if len(c.Bindings) > 0 {
		options = append(options, ngrok.WithBindings(c.Bindings...))
	}
	upstream := []ngrok.UpstreamOption{}
	if c.ProxyProto != "" {
		upstream = append(upstream, ngrok.WithUpstreamProxyProto(ngrok.ProxyProtoVersion("v"+c.ProxyProto)))
	}
	forward, err := p.agent.Forward(context.Background(), ngrok.WithUpstream(c.Upstream, upstream...), options...)
	if err != nil {
		return nil, err
	}
	p.forwards[forward.ID()] = forward
	return map[string]any{"url": forward.URL().String(), "id": forward.ID()}, nil
}
