package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/validate"
	"github.com/bb-kernel/bb/kernelcontract/word"
	"github.com/bb-kernel/bb/server"
)

// settings is what the config file can say.
type settings struct {
	Listen       string   `json:"listen,omitempty" minLength:"1" description:"host:port to listen on; port 0 picks a free one"`
	TLS          *pair    `json:"tls,omitempty" description:"certificate and key that make the server speak TLS"`
	Origins      []string `json:"origins,omitempty" description:"web origins that may call"`
	Hosts        []string `json:"hosts,omitempty" description:"names that the server is reached by"`
	PublicURL    string   `json:"publicUrl,omitempty" description:"where people reach the server through a proxy"`
	GateKeyFile  string   `json:"gateKeyFile,omitempty" description:"key of an authenticating proxy on this machine"`
	LoopbackAuth string   `json:"loopbackAuth,omitempty" default:"trust" enum:"trust,token" description:"whether callers on this machine need a token"`
	LogLevel     string   `json:"logLevel,omitempty" default:"info" enum:"debug,info,warn,error" description:"what is logged"`
	LogFormat    string   `json:"logFormat,omitempty" default:"text" enum:"text,json" description:"how it is written"`
	Agents       []Agent  `json:"agents,omitempty" maxItems:"64" description:"agents that speak the Agent Client Protocol"`
}

// Agent is an agent that speaks the Agent Client Protocol, as the config file names it. It becomes a provider.
type Agent struct {
	ID          string   `json:"id" pattern:"^[a-z][a-z0-9-]{0,63}$" description:"the provider's id"`
	DisplayName string   `json:"displayName,omitempty" maxLength:"100" description:"what people see; without it the id"`
	Command     []string `json:"command" minItems:"1" maxItems:"64" description:"the program and its arguments, such as opencode, acp"`
	Env         []string `json:"env,omitempty" description:"names of variables of the server's environment that the agent gets, such as its API key"`
}

type pair struct {
	Cert string `json:"cert" minLength:"1" description:"PEM file of the certificate"`
	Key  string `json:"key" minLength:"1" description:"PEM file of its key"`
}

// maxConfig bounds the config file, in bytes: a person writes it.
const maxConfig = 1 << 20

// configFile is the config file's name in the data directory.
const configFile = "config.json"

// The keys that are no part of the file.
const (
	keyConfig   = "config"
	keyDataDir  = "dataDir"
	keyInsecure = "insecure"
	keyExamples = "builtinExamples"
	keyDevelop  = "development"
)

// resolved is the configuration with the source of each value.
type resolved struct {
	settings
	dataDir    string
	configPath string
	insecure   bool
	examples   bool
	develop    bool
	source     map[string]string // by key
}

const sourceDefault = "default"

// resolve puts flags over the environment over the file over the defaults.
func resolve(f *flags, getenv func(string) string) (*resolved, error) {
	r := &resolved{source: map[string]string{}}
	var err error
	if r.dataDir, err = r.pick(keyDataDir, f.dataDir, "--data-dir", "BB_DATA_DIR", getenv); err != nil {
		return nil, err
	}
	if r.dataDir == "" {
		if r.dataDir, err = server.DefaultDataDir(getenv); err != nil {
			return nil, err
		}
	}
	if r.dataDir, err = filepath.Abs(r.dataDir); err != nil {
		return nil, err
	}
	if r.configPath, err = r.pick(keyConfig, f.config, "--config", "BB_CONFIG", getenv); err != nil {
		return nil, err
	}
	named := r.configPath != ""
	if !named {
		r.configPath = filepath.Join(r.dataDir, configFile)
	}
	if err := r.read(named); err != nil {
		return nil, err
	}
	listen, err := r.pick("listen", f.listen, "--listen", "BB_LISTEN", getenv)
	if err != nil {
		return nil, err
	}
	if listen != "" {
		r.Listen = listen
	}
	if r.Listen == "" {
		r.Listen = server.DefaultListen
	}
	format, err := r.pick("logFormat", f.logFormat, "--log-format", "BB_LOG_FORMAT", getenv)
	if err != nil {
		return nil, err
	}
	if format != "" {
		r.LogFormat = format
	}
	if f.logLevel != nil {
		r.LogLevel, r.source["logLevel"] = *f.logLevel, "flag --log-level"
	}
	r.insecure, r.examples, r.develop = f.insecure, !f.noExamples, f.development
	if f.insecure {
		r.source[keyInsecure] = "flag --insecure"
	}
	if f.noExamples {
		r.source[keyExamples] = "flag --no-builtin-examples"
	}
	if f.development {
		r.source[keyDevelop] = "flag --development"
	}
	return r, nil
}

// pick returns a flag's value, else a variable's, else "".
func (r *resolved) pick(key string, flag *string, flagName, variable string, getenv func(string) string) (string, error) {
	if flag != nil {
		if *flag == "" {
			return "", usage("%s needs a value", flagName)
		}
		r.source[key] = "flag " + flagName
		return *flag, nil
	}
	if v := getenv(variable); v != "" {
		r.source[key] = "environment " + variable
		return v, nil
	}
	return "", nil
}

// read reads the config file. One that nobody named may be absent.
func (r *resolved) read(named bool) error {
	raw, err := readBounded(r.configPath)
	absent := (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) && !named // what is no directory, the store tells
	if absent {
		raw, err = []byte("{}"), nil
		r.source[keyConfig] = sourceDefault + ", not there"
	}
	if err != nil {
		return fmt.Errorf("the config file cannot be read: %w", err)
	}
	given, err := decode(raw, &r.settings)
	if err != nil {
		return fmt.Errorf("the config file %s: %w", r.configPath, err)
	}
	for _, key := range given {
		r.source[key] = "file " + r.configPath
	}
	base := filepath.Dir(r.configPath)
	beside := func(path *string) {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(base, *path)
		}
	}
	beside(&r.GateKeyFile)
	if r.TLS != nil {
		beside(&r.TLS.Cert)
		beside(&r.TLS.Key)
	}
	for i, a := range r.Agents {
		if strings.ContainsAny(a.Command[0], `/\`) { // a bare name is looked for in the PATH
			beside(&a.Command[0])
		}
		if slices.ContainsFunc(r.Agents[:i], func(other Agent) bool { return other.ID == a.ID }) {
			return fmt.Errorf("the config file %s: agents.%d.id: %q is there twice", r.configPath, i, a.ID)
		}
	}
	return nil
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(raw) > maxConfig {
		err = fmt.Errorf("%s has more than %d bytes", path, maxConfig)
	}
	return raw, err
}

// decode reads a config file strictly and returns the keys that it gives. The error names every problem, and for an
// unknown key the nearest that there is.
func decode(raw []byte, s *settings) (given []string, err error) {
	sch, err := schema.Of(reflect.TypeFor[settings]())
	if err != nil {
		return nil, err
	}
	v, err := validate.Compile(sch)
	if err != nil {
		return nil, err
	}
	filled, issues := v.Input(raw)
	if len(issues) > 0 {
		problems := make([]error, len(issues))
		for i, issue := range issues {
			problems[i] = explain(sch, issue)
		}
		return nil, errors.Join(problems...)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	for _, p := range sch.Properties {
		if _, ok := members[p.Name]; ok {
			given = append(given, p.Name)
		}
	}
	return given, json.Unmarshal(filled, s)
}

// explain turns an issue into a sentence that names the key and what would do.
func explain(sch *schema.Schema, issue schema.Issue) error {
	path := make([]string, len(issue.Path))
	at := sch
	for i, e := range issue.Path {
		path[i] = fmt.Sprint(e)
		if i == len(issue.Path)-1 || at == nil {
			continue
		}
		switch p := at.Property(path[i]); {
		case p != nil:
			at = sch.Resolve(p.Schema)
		case at.Items != nil:
			at = sch.Resolve(at.Items)
		default:
			at = nil
		}
	}
	key := strings.Join(path, ".")
	if key == "" {
		return errors.New(issue.Message)
	}
	if issue.Code != schema.IssueUnrecognizedKey || at == nil {
		return fmt.Errorf("%s: %s", key, issue.Message)
	}
	names := make([]string, len(at.Properties))
	for i, p := range at.Properties {
		names[i] = p.Name
	}
	if near := word.Nearest(path[len(path)-1], names); len(near) > 0 {
		return fmt.Errorf("%s: there is no such key; did you mean %s?", key, near[0])
	}
	return fmt.Errorf("%s: there is no such key; there are %s", key, strings.Join(names, ", "))
}

// print writes every value with its source.
func (r *resolved) print(w io.Writer) error {
	rows := []struct {
		key   string
		value any
	}{
		{keyDataDir, r.dataDir}, {keyConfig, r.configPath},
		{"listen", r.Listen}, {"tls", r.TLS}, {"origins", list(r.Origins)}, {"hosts", list(r.Hosts)}, {"publicUrl", r.PublicURL},
		{"gateKeyFile", r.GateKeyFile}, {"loopbackAuth", r.LoopbackAuth}, {"logLevel", r.LogLevel}, {"logFormat", r.LogFormat}, {"agents", agents(r.Agents)},
		{keyInsecure, r.insecure}, {keyExamples, r.examples}, {keyDevelop, r.develop},
	}
	values := make([]string, len(rows))
	widest := 0
	for i, row := range rows {
		raw, err := schema.Marshal(row.value)
		if err != nil {
			return err
		}
		values[i] = string(raw)
		widest = max(widest, len(values[i]))
	}
	for i, row := range rows {
		source := r.source[row.key]
		if source == "" {
			source = sourceDefault
		}
		if _, err := fmt.Fprintf(w, "%-16s %-*s  (%s)\n", row.key, widest, values[i], source); err != nil {
			return err
		}
	}
	return nil
}

func agents(all []Agent) []Agent {
	if all == nil {
		return []Agent{}
	}
	return all
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
