package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// description writes the OpenAPI document of a running server with a client's own program, and returns both.
func description(t *testing.T) (file, url string) {
	t.Helper()
	i := install(t)
	_, url = i.serve(t, "127.0.0.1:0")
	file = filepath.Join(t.TempDir(), "openapi.json")
	i.bb(t, url, "sdk", "openapi", "--output", file)
	return file, url
}

// golden is a document with every shape that an operation can have.
const golden = "kernelcontract/openapi/testdata/shelf.json"

func TestOpenAPIIsValidForKin(t *testing.T) {
	t.Parallel()
	dir := root(t)
	live, _ := description(t)
	for _, file := range []string{live, filepath.Join(dir, filepath.FromSlash(golden))} {
		cmd := exec.CommandContext(deadline(t), "go", "run", "./openapicheck", file)
		cmd.Dir = filepath.Join(dir, "tools")
		cmd.Env = append(os.Environ(), "GOWORK=off")
		output(t, cmd)
	}
}

// script returns the command line of a program that scripts/agents has installed for OpenAPI.
func script(t *testing.T, path string) []string {
	t.Helper()
	dir := os.Getenv("BB_AGENTS_DIR")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(cache, "bb-agents")
	}
	file := filepath.Join(dir, "openapi", "node_modules", filepath.FromSlash(path))
	if _, err := os.Stat(file); err != nil {
		t.Skipf("%s is not installed: run scripts/agents", file)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not on the PATH")
	}
	return []string{node, file}
}

// runScript runs one in a folder of its own, without telling anybody.
func runScript(t *testing.T, dir string, command []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(deadline(t), command[0], append(command[1:], args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "CI=true", "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	return output(t, cmd)
}

func TestOpenAPIIsValidForRedocly(t *testing.T) {
	t.Parallel()
	redocly := script(t, "@redocly/cli/bin/cli.js")
	live, _ := description(t)
	for _, file := range []string{live, filepath.Join(root(t), filepath.FromSlash(golden))} {
		runScript(t, t.TempDir(), redocly, "lint", "--extends=recommended", file)
	}
}

// A client of types that were generated from the document compiles and calls the server.
func TestOpenAPIMakesAClient(t *testing.T) {
	t.Parallel()
	generate := script(t, "openapi-typescript/bin/cli.js")
	compile := script(t, "typescript/bin/tsc")
	file, url := description(t)
	dir := t.TempDir()
	runScript(t, dir, generate, file, "-o", filepath.Join(dir, "bb.d.ts"))
	modules := filepath.Dir(filepath.Dir(filepath.Dir(compile[1])))
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	for name, text := range map[string]string{
		"package.json": `{"type": "module"}`,
		"client.ts": `import createClient from "openapi-fetch";
import type { paths } from "./bb.js";

const client = createClient<paths>({ baseUrl: "` + url + `" });
const { data, error } = await client.GET("/api/v1/kernel/plugin/list");
if (error) throw new Error(error.error.code);
const ok: true = data.ok;
console.log(JSON.stringify([ok, data.result]));
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runScript(t, dir, compile, "--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "client.ts")
	out := runScript(t, dir, compile[:1], "client.js")
	if !strings.HasPrefix(out, "[true,") || !strings.Contains(out, `"kernel"`) {
		t.Errorf("the client prints %q", out)
	}
}
