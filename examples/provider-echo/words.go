package echo

import (
	"fmt"
	"strings"
)

// Word is something that the agent understands: the first word of a prompt.
type Word struct {
	Name    string
	Usage   string // what may follow it
	Summary string // what the agent then does
}

// word is a Word with what it does.
type word struct {
	Word
	run      func(t *turn, argument string) error
	before   func(s *Session, argument string) error // in the place of a turn
	zeroWork bool                                    // the turn has nothing to show
}

// Words lists what the agent understands. Any other text is said back.
func Words() []Word {
	var all []Word
	for _, w := range words() {
		all = append(all, w.Word)
	}
	return all
}

// words is the agent's whole understanding.
func words() []word {
	return []word{
		{Word: Word{"help", "", "lists these words"}, run: help},
		{Word: Word{"say", "TEXT", "says the text"}, run: (*turn).say},
		{Word: Word{"think", "TEXT", "thinks it, with a summary, then says it"}, run: think},
		{Word: Word{"plan", "TEXT", "makes a plan"}, run: plan},
		{Word: Word{"run", "COMMAND", "shows a command with its output"}, run: runCommand},
		{Word: Word{"watch", "COMMAND", "shows a command whose output is replaced as it changes"}, run: watchCommand},
		{Word: Word{"edit", "PATH", "shows a change of files, and the diff of the turn"}, run: edit},
		{Word: Word{"call", "", "shows a call of a tool of its own"}, run: ownTool},
		{Word: Word{"tool", "[ARGUMENTS]", "calls the first tool that core gave it, with the arguments as JSON"}, run: callTool},
		{Word: Word{"delegate", "TEXT", "lets a sub-agent say the text"}, run: delegate},
		{Word: Word{"background", "TEXT", "begins a task that ends after its turn"}, run: background},
		{Word: Word{"card", "TITLE", "shows an item of its own kind, " + cardKind}, run: card},
		{Word: Word{"mood", "TEXT", "sets a state of its own kind, " + moodKind}, run: mood},
		{Word: Word{"items", "", "shows an item of every kind"}, run: items},
		{Word: Word{"early", "", "sends output before its item opens, and an item that only closes"}, run: early},
		{Word: Word{"compact", "", "compacts its context; refuses when nothing was said yet"}, run: compact},
		{Word: Word{"todo", "STEP, STEP…", "lists steps"}, run: todo},
		{Word: Word{"usage", "[total]", "reports tokens, or all that it used"}, run: reportUsage},
		{Word: Word{"context", "", "reports how full its context is"}, run: contextWindow},
		{Word: Word{"clear", "", "forgets what was said"}, run: clearContext},
		{Word: Word{"name", "TEXT", "names the thread"}, run: nameThread},
		{Word: Word{"limits", "", "reports its quota"}, run: limits},
		{Word: Word{"fallback", "[refusal]", "goes on with another model"}, run: fallback},
		{Word: Word{"error", "CATEGORY [retry|thread]", "reports an error that fails the turn; with retry or thread one that does not"}, run: reportError},
		{Word: Word{"warn", "CATEGORY [thread]", "reports a warning"}, run: warn},
		{Word: Word{"unhandled", "", "reports something that it cannot translate"}, run: unhandled},
		{Word: Word{"approve", "command|file|permission|plan", "asks for permission"}, run: approve},
		{Word: Word{"ask", "[one|many|text|both|all]", "asks a question, or four"}, run: ask},
		{Word: Word{"form", "TITLE", "makes a request of its own kind, " + formKind}, run: form},
		{Word: Word{"withdraw", "", "asks, and soon no longer waits"}, run: withdraw},
		{Word: Word{"slow", "", "works until it is stopped; repeats what it is steered with, and ends at: done"}, run: slow},
		{Word: Word{"nothing", "", "has nothing to do"}, zeroWork: true},
		{Word: Word{"goal", "TEXT", "works towards the thread's goal in a turn that it begins itself"}, run: goal},
		{Word: Word{"recover", "HINT", "says what would help"}, run: recoverHint},
		{Word: Word{"replace", "", "goes on in another session"}, run: replaceSession},
		{Word: Word{"reset", "", "begins its keys afresh"}, run: reset},
		{Word: Word{"end", "", "ends the session"}, run: endSession},
		{Word: Word{"raw", "", "hands on what the agent said as it is"}, run: raw},
		{Word: Word{"log", "LEVEL TEXT", "writes to core's log"}, run: writeLog},
		{Word: Word{"flood", "COUNT", "sends so many pieces of text"}, run: flood},
		{Word: Word{"refuse", "TEXT", "refuses the turn with the text"}, before: refuse},
		{Word: Word{"fail", "TEXT", "fails the turn with the text"}, run: fail},
		{Word: Word{"panic", "TEXT", "panics in the middle of the turn"}, run: panicking},
		{Word: Word{"exit", "", "ends the process in the middle of the turn"}, run: exit},
	}
}

// parse finds the word that a prompt begins with.
func parse(text string) (word, string) {
	name, argument, _ := strings.Cut(strings.TrimSpace(text), " ")
	for _, w := range words() {
		if w.Name == name {
			return w, strings.TrimSpace(argument)
		}
	}
	return word{run: (*turn).say}, text
}

func help(t *turn, _ string) error {
	var b strings.Builder
	for _, w := range Words() {
		fmt.Fprintf(&b, "%s — %s\n", strings.TrimSpace(w.Name+" "+w.Usage), w.Summary)
	}
	return t.say(b.String())
}
