package host_test

func echoLines()   {}
func echoJSON()    {}
func echoJSONRPC() {}
func writeLines()  {}
