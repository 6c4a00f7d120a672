package host_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	role  = "BB_HOST_TEST_ROLE"  // makes the test binary a child
	rules = "BB_HOST_TEST_RULES" // commands of a puppet, run at its start
)

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "puppet":
		newPuppet().run()
	case "holder": // keeps the pipes that it inherited
		signal.Ignore(syscall.SIGTERM)
		for {
			time.Sleep(time.Hour)
		}
	case "kit":
		serveKit()
	case "plain":
		answerPlainly()
	default:
		os.Exit(m.Run())
	}
}

// puppet is a bridge that speaks JSON lines by hand, so that it can misbehave. It runs commands, one a line: those of
// the variable, then those that "on METHOD COMMAND" has set for the method of a request, or the text of a turn/start.
// In them $ID is the id of the request, $T its thread and $P the thread's session.
//
//	on METHOD COMMAND  run COMMAND for each request of METHOD; "off METHOD" forgets
//	say TEXT           write TEXT as a line, with what $ID, $T and $P stand for
//	hex BYTES          write the bytes, in hexadecimal
//	result JSON        answer the request, which is otherwise answered well at the end
//	error JSON         answer it with an error
//	quiet              do not answer it at the end
//	await              go on when the next answer of core has come
//	flood N            write N text deltas of the thread's open item, numbered
//	junk N             write N bytes without a line end
//	stderr N           write N bytes to standard error
//	hold               start a grandchild that keeps the pipes, and say its number
//	deaf               ignore SIGTERM
//	close              close standard output
//	sleep              do nothing any more
//	exit N             exit with the status
//
// Every answer of core comes back as a bridge/log, as does its every request after "echo".
type puppet struct {
	in    *bufio.Reader
	out   *os.File
	on    map[string][]string
	echo  bool
	quiet bool
	id    string
	t     string
}

func newPuppet() *puppet {
	p := &puppet{in: bufio.NewReaderSize(os.Stdin, 1<<16), out: os.Stdout, on: map[string][]string{}}
	p.id = "null"
	for _, c := range strings.Split(os.Getenv(rules), "\n") {
		p.do(c)
	}
	return p
}

type puppetMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ThreadID string `json:"threadId"`
		Input    []struct {
			Text string `json:"text"`
		} `json:"input"`
	} `json:"params"`
}

func (p *puppet) run() {
	for {
		m, ok := p.read()
		if !ok {
			p.do(strings.Join(p.on["EOF"], "\n"))
			os.Exit(0)
		}
		p.id, p.t, p.quiet = string(m.ID), m.Params.ThreadID, false
		for _, c := range p.on[m.Method] {
			p.do(c)
		}
		if m.Method == "turn/start" {
			for _, in := range m.Params.Input {
				for _, c := range strings.Split(in.Text, "\n") {
					p.do(c)
				}
			}
		}
		if !p.quiet {
			p.answer(m.Method)
		}
	}
}

// read returns the next request; answers that come before it are said.
func (p *puppet) read() (puppetMessage, bool) {
	for {
		line, err := p.in.ReadBytes('\n')
		if err != nil {
			return puppetMessage{}, false
		}
		line = bytes.TrimSpace(line)
		var m puppetMessage
		if err := json.Unmarshal(line, &m); err != nil {
			panic(err)
		}
		if m.Method == "" || p.echo {
			p.log(line)
		}
		if m.Method != "" {
			return m, true
		}
	}
}

func (p *puppet) log(data []byte) {
	p.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"bridge/log","params":{"threadId":null,"level":"info","message":"got","data":%s}}`, data))
}

func (p *puppet) say(line string) {
	line = strings.NewReplacer("$ID", p.id, "$T", p.t, "$P", "p-"+p.t).Replace(line)
	if _, err := p.out.WriteString(line + "\n"); err != nil {
		os.Exit(1)
	}
}

func (p *puppet) result(result string) { p.say(`{"jsonrpc":"2.0","id":$ID,"result":` + result + `}`) }

// answer answers a request as a good bridge would.
func (p *puppet) answer(method string) {
	switch method {
	case "initialize":
		p.result(`{"protocol":3,"capabilities":` + allCapabilities + `}`)
	case "thread/start", "thread/resume", "thread/fork":
		p.say(`{"jsonrpc":"2.0","method":"thread/identity","params":{"threadId":"$T","providerThreadId":"$P","sessionRestorable":true}}`)
		p.result(`{"providerThreadId":"$P","sessionRestorable":true}`)
	case "model/list":
		p.result(`{"models":[]}`)
	case "skills/discover":
		p.result(`{"skills":[]}`)
	case "shutdown":
		p.result(`{}`)
		os.Exit(0)
	default:
		p.result(`{}`)
	}
}

func (p *puppet) do(command string) {
	word, rest, _ := strings.Cut(command, " ")
	number := func() int {
		n, err := strconv.Atoi(rest)
		if err != nil {
			panic(command)
		}
		return n
	}
	switch word {
	case "":
	case "on":
		method, command, _ := strings.Cut(rest, " ")
		p.on[method] = append(p.on[method], command)
	case "off":
		delete(p.on, rest)
	case "echo":
		p.echo = true
	case "say":
		p.say(rest)
	case "hex":
		raw, err := hex.DecodeString(rest)
		if err != nil {
			panic(err)
		}
		p.out.Write(raw)
	case "result":
		p.result(rest)
		p.quiet = true
	case "error":
		p.say(`{"jsonrpc":"2.0","id":$ID,"error":` + rest + `}`)
		p.quiet = true
	case "quiet":
		p.quiet = true
	case "await":
		line, err := p.in.ReadBytes('\n')
		if err != nil {
			os.Exit(1)
		}
		p.log(bytes.TrimSpace(line))
	case "flood":
		w := bufio.NewWriter(p.out)
		for i := range number() {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"thread/delta","params":{"threadId":"%s","deltas":[{"kind":"item.text","scope":"turn","turnKey":null,"key":{"providerItemId":"m1","channel":null,"parentRef":null},"stream":"text","text":"%d"}]}}`+"\n", p.t, i)
		}
		w.Flush()
	case "junk":
		io.Copy(p.out, io.LimitReader(endless{}, int64(number())))
	case "stderr":
		io.Copy(os.Stderr, io.LimitReader(endless{}, int64(number())))
	case "hold":
		c := exec.Command(os.Args[0])
		c.Env = []string{role + "=holder"}
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			panic(err)
		}
		p.log([]byte(strconv.Itoa(c.Process.Pid)))
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
	case "close":
		p.out.Close()
	case "sleep":
		for {
			time.Sleep(time.Hour)
		}
	case "exit":
		os.Exit(number())
	default:
		panic("no command " + command)
	}
}

// endless is a reader of one letter.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}
