package bridgekit

// ChildEnvOn is ChildEnv for either kind of system.
var ChildEnvOn = childEnv
