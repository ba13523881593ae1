module seamark.test/score-files

go 1.26

require (
	github.com/santhosh-tekuri/jsonschema/v5 v5.3.1
	github.com/score-spec/score-go v1.20.1
	gopkg.in/yaml.v3 v3.0.1
)

require github.com/go-viper/mapstructure/v2 v2.5.0 // indirect
