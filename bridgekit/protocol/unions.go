package protocol

import (
	"reflect"
	"sync"
)

// member is a member of a union. The tag "" stands for every extension kind.
type member struct {
	tag   string
	value any
}

// membersOf returns the field that tells the members of a sealed interface apart, and the members in the order of the
// documentation.
func membersOf(t reflect.Type) (tag string, members []member) {
	switch t {
	case reflect.TypeFor[Delta]():
		for _, d := range []Delta{&InputAccepted{}, &TurnOpen{}, &TurnBoundary{}, &TurnDiff{}, &ItemOpen{}, &ItemText{},
			&ItemOutput{}, &ItemProgress{}, &ItemClose{}, &Usage{}, &ContextWindow{}, &ContextCleared{}, &Todo{},
			&ThreadName{}, &ExtensionState{}, &RateLimits{}, &ModelFallback{}, &ProviderError{}, &ProviderWarning{},
			&ProviderUnhandled{}, &SessionEnded{}, &SessionReset{}} {
			members = append(members, member{string(d.Kind()), d})
		}
		return "kind", members
	case reflect.TypeFor[Item]():
		for _, i := range []Item{&Message{}, &Reasoning{}, &Plan{}, &Compaction{}, &Command{}, &Tool{}, &FileChange{}, &Task{}, &Extension{}} {
			members = append(members, member{string(i.Kind()), i})
		}
		return "kind", members
	case reflect.TypeFor[PromptInput]():
		for _, i := range []PromptInput{&TextInput{}, &ImageInput{}, &LocalImageInput{}, &LocalFileInput{}} {
			members = append(members, member{string(i.Type()), i})
		}
		return "type", members
	case reflect.TypeFor[Subject]():
		for _, s := range []Subject{&CommandSubject{}, &FileChangeSubject{}, &PermissionSubject{}, &PlanSubject{}} {
			members = append(members, member{string(s.Kind()), s})
		}
		return "kind", members
	case reflect.TypeFor[CommandAction]():
		for _, a := range []CommandAction{&ReadAction{}, &ListFilesAction{}, &SearchAction{}, &UnknownAction{}} {
			members = append(members, member{string(a.Kind()), a})
		}
		return "kind", members
	case reflect.TypeFor[Interaction]():
		return "kind", []member{{"approval", &Approval{}}, {"question", &Questions{}}, {"", &OpenInteraction{}}}
	case reflect.TypeFor[Resolution]():
		return "kind", []member{{"approval", &Decision{}}, {"answer", &Answers{}}, {"submitted", &Submitted{}},
			{"interrupted", &InterruptedResolution{}}}
	}
	panic("protocol: no union is " + t.String())
}

// unionOf returns the union that a pointer type is a member of; false for other types.
func unionOf(ptr reflect.Type) (reflect.Type, bool) {
	union, ok := unions()[ptr]
	return union, ok
}

// unions holds the union of every member; it is made once and never changes.
var unions = sync.OnceValue(func() map[reflect.Type]reflect.Type {
	of := map[reflect.Type]reflect.Type{}
	for _, u := range []reflect.Type{reflect.TypeFor[Delta](), reflect.TypeFor[Item](), reflect.TypeFor[PromptInput](),
		reflect.TypeFor[Subject](), reflect.TypeFor[CommandAction](), reflect.TypeFor[Interaction](), reflect.TypeFor[Resolution]()} {
		_, members := membersOf(u)
		for _, m := range members {
			of[reflect.TypeOf(m.value)] = u
		}
	}
	return of
})
