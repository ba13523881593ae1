// What the published JSON schema and score-go make of Score files: cases as JSON in, two results for each as JSON out.
//
//	schema    the official schema, on the file as written (with its overrides)
//	score-go  what every program built on score-go does: upgrade transforms, its schema, source files, its own rules,
//	          identity of resources, order of resources
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/score-spec/score-go/framework"
	"github.com/score-spec/score-go/loader"
	"github.com/score-spec/score-go/schema"
	"github.com/score-spec/score-go/types"
	"gopkg.in/yaml.v3"
)

const longest = 100

type testCase struct {
	Folder        string   `json:"folder"`
	Files         []string `json:"files"`
	OverridesFile string   `json:"overrides_file"`
	Overrides     []string `json:"overrides"`
}

type result struct {
	Schema  string `json:"schema"`
	ScoreGo string `json:"score_go"`
}

type state = framework.State[framework.NoExtras, framework.NoExtras, framework.NoExtras]

func main() {
	var cases map[string]testCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		fmt.Fprintln(os.Stderr, "cases:", err)
		os.Exit(2)
	}
	official, err := officialSchema()
	if err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(2)
	}
	results := map[string]result{}
	for name, c := range cases {
		results[name] = result{
			Schema:  text(againstSchema(c, official)),
			ScoreGo: text(againstScoreGo(c)),
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(results)
}

// officialSchema is the schema that the module publishes beside the one that it validates with.
func officialSchema() (*jsonschema.Schema, error) {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/score-spec/score-go").Output()
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "schema", "files", "score-v1b1.json"))
	if err != nil {
		return nil, err
	}
	return jsonschema.CompileString("", string(raw))
}

func againstSchema(c testCase, official *jsonschema.Schema) error {
	for _, file := range c.Files {
		raw, err := decoded(c, file)
		if err == nil {
			err = official.Validate(raw)
		}
		if err != nil {
			return inFile(c, file, err)
		}
	}
	return nil
}

func againstScoreGo(c testCase) error {
	s := &state{}
	for _, file := range c.Files {
		var err error
		if s, err = added(s, c, file); err != nil {
			return inFile(c, file, err)
		}
	}
	s, err := s.WithPrimedResources()
	if err != nil {
		return err
	}
	_, err = s.GetSortedResourceUids()
	return err
}

func added(s *state, c testCase, file string) (*state, error) {
	raw, err := decoded(c, file)
	if err != nil {
		return nil, err
	}
	if _, err := schema.ApplyCommonUpgradeTransforms(raw); err != nil {
		return nil, err
	}
	if err := schema.Validate(raw); err != nil {
		return nil, err
	}
	var workload types.Workload
	if err := loader.MapSpec(&workload, raw); err != nil {
		return nil, err
	}
	if err := loader.Normalize(&workload, c.Folder); err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), c.Folder+"/", ""))
	}
	if err := loader.Validate(&workload); err != nil {
		return nil, first(err)
	}
	return s.WithWorkload(&workload, &file, framework.NoExtras{})
}

// decoded is one file with its overrides, in the order of the programs: the file of overrides, then the properties.
func decoded(c testCase, file string) (map[string]any, error) {
	raw, err := document(filepath.Join(c.Folder, file))
	if err != nil {
		return nil, err
	}
	if c.OverridesFile != "" {
		overrides, err := document(filepath.Join(c.Folder, c.OverridesFile))
		if err != nil {
			return nil, err
		}
		if raw, err = framework.OverrideMapInMap(raw, overrides); err != nil {
			return nil, err
		}
	}
	for _, override := range c.Overrides {
		path, text, _ := strings.Cut(override, "=")
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return nil, err
		}
		if raw, err = framework.OverridePathInMap(raw, framework.ParseDotPathParts(path), text == "", value); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

func document(path string) (map[string]any, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var whole map[string]any
	if err := yaml.NewDecoder(bytes.NewReader(raw)).Decode(&whole); err != nil {
		return nil, err
	}
	return whole, nil
}

func inFile(c testCase, file string, err error) error {
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		err = errors.New(deepest(invalid))
	}
	if len(c.Files) == 1 {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// deepest is the cause that is furthest inside the file, the first by its text among equals.
func deepest(invalid *jsonschema.ValidationError) string {
	var found []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			found = append(found, fmt.Sprintf("%s: %s", e.InstanceLocation, e.Message))
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(invalid)
	sort.Slice(found, func(i, j int) bool {
		one, other := strings.Count(found[i], "/"), strings.Count(found[j], "/")
		return one > other || one == other && found[i] < found[j]
	})
	return found[0]
}

// first is the first by its text of the messages, which come in the order of a map.
func first(err error) error {
	var invalid *loader.ValidationError
	if errors.As(err, &invalid) {
		return errors.New(slices.Min(invalid.Messages))
	}
	return err
}

// text is what expect.yaml has: one line, not too long.
func text(err error) string {
	if err == nil {
		return "accepted"
	}
	message := []rune(strings.Join(strings.Fields(err.Error()), " "))
	if len(message) > longest {
		message = append(message[:longest], '…')
	}
	return "refused: " + string(message)
}
