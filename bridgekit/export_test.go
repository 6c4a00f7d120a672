package bridgekit

// ChildEnvOn is ChildEnv for either kind of system.
var ChildEnvOn = childEnv

// Terminal tells whether somebody may sit at a file.
var Terminal = terminal
