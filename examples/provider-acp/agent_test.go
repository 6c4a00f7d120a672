package acp_test

// playAgent is the agent of the tests.
func playAgent(string) {}
