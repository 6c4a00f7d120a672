package codex_test

// playServer is the app-server of the tests.
func playServer(string) {}
