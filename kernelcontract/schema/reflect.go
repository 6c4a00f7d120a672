package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/swaggest/jsonschema-go"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// Of derives the schema of a Go type (docs/spec/schemas.md says how). The schema is strict, keeps the order of the
// fields and is complete in itself: recursive types and structs that are used more than once are in its Defs.
// The error is a *TypeError that lists every problem with the path of its field. Of takes about a millisecond: keep
// the result.
func Of(t reflect.Type) (s *Schema, err error) {
	if t == nil {
		return &Schema{}, nil
	}
	b := builder{nodes: map[reflect.Type]*node{}}
	defer func() {
		// A method of the user's type, such as Enum, runs in here.
		if p := recover(); p != nil {
			b.problem(nil, fmt.Sprintf("a method of the type panicked while its schema was built: %v", p))
			s, err = nil, b.err(t)
		}
	}()
	root := b.of(t, nil)
	if len(b.problems) > 0 {
		return nil, b.err(t)
	}
	return b.finish(root), nil
}

// builder derives the schema of one root type.
type builder struct {
	nodes    map[reflect.Type]*node
	order    []*node
	problems []Problem
}

// node is a type that may become an entry of Defs.
type node struct {
	t         reflect.Type
	ref       string // stands for the node until finish
	name      string
	s         *Schema // nil while it is being built
	uses      int
	recursive bool
}

// refMark begins the reference to a node that finish replaces; no definition's name contains it.
const refMark = "\x00"

func (b *builder) problem(path []string, message string) {
	b.problems = append(b.problems, Problem{Path: joinPath(path), Message: message})
}

func (b *builder) err(t reflect.Type) error {
	sort.SliceStable(b.problems, func(i, j int) bool { return b.problems[i].Path < b.problems[j].Path })
	return &TypeError{Type: typeName(t), Problems: slices.Compact(b.problems)}
}

// joinPath writes a path as "filter.tags[]".
func joinPath(path []string) string {
	var b strings.Builder
	for i, p := range path {
		if i > 0 && p != "[]" && p != "{}" {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}

func at(path []string, name string) []string { return append(path[:len(path):len(path)], name) }

// of returns a schema for t that the caller may add to.
func (b *builder) of(t reflect.Type, path []string) *Schema {
	switch t {
	case timeType:
		return &Schema{Type: String, Format: "date-time"}
	case durationType:
		return &Schema{Type: String, Format: "duration"}
	case timeDurationType:
		b.problem(path, "time.Duration travels as a bare number; use kernelcontract.Duration")
		return &Schema{}
	case bytesType:
		return bytesSchema()
	case rawType:
		return &Schema{}
	case numberType:
		return &Schema{Type: Number}
	}
	switch {
	case isNull(t):
		return b.nullable(t.Field(0).Type, path)
	case t.Kind() == reflect.Pointer:
		return b.nullable(t.Elem(), path)
	case isUnion(t):
		return b.node(t, path, b.union)
	}
	if s, ok := b.custom(t, path); ok {
		return s
	}
	switch t.Kind() {
	case reflect.Struct:
		return b.node(t, path, b.object)
	case reflect.Slice, reflect.Array, reflect.Map:
		if t.Name() != "" && reaches(t.Elem(), t, map[reflect.Type]bool{}) {
			return b.node(t, path, b.container)
		}
		return b.container(t, path)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			b.problem(path, "an interface type has no schema; use kernelcontract.Union, or any for arbitrary JSON")
		}
		return &Schema{}
	}
	return b.scalar(t, path)
}

func (b *builder) nullable(elem reflect.Type, path []string) *Schema {
	for elem.Kind() == reflect.Pointer {
		if elem.Name() != "" {
			b.problem(path, "a named pointer type has no schema; use a pointer to a named type")
			return &Schema{}
		}
		elem = elem.Elem()
	}
	s := b.of(elem, path)
	if s.Type != Any || s.Ref != "" || s.OneOf != nil {
		s.Nullable = true
	}
	return s
}

// node returns a reference to a type that may be used more than once, building it at its first use.
func (b *builder) node(t reflect.Type, path []string, build func(reflect.Type, []string) *Schema) *Schema {
	n := b.nodes[t]
	if n == nil {
		n = &node{t: t, ref: refMark + strconv.Itoa(len(b.order))}
		b.nodes[t] = n
		b.order = append(b.order, n)
		n.s = build(t, path)
	} else if n.s == nil {
		n.recursive = true
	}
	n.uses++
	return &Schema{Ref: n.ref}
}

// reaches reports whether values of type from can hold values of type to.
func reaches(from, to reflect.Type, seen map[reflect.Type]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	switch from.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return reaches(from.Elem(), to, seen)
	case reflect.Struct:
		for i := range from.NumField() {
			if reaches(from.Field(i).Type, to, seen) {
				return true
			}
		}
	}
	return false
}

func (b *builder) container(t reflect.Type, path []string) *Schema {
	switch t.Kind() {
	case reflect.Map:
		if k := t.Key(); k.Kind() != reflect.String || k.Implements(textMarshaler) || reflect.PointerTo(k).Implements(textUnmarshaler) {
			b.problem(path, "a map needs a plain string as key, not "+k.String())
		}
		return &Schema{Type: Object, Values: b.of(t.Elem(), at(path, "{}"))}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &Schema{Type: String, ContentEncoding: "base64"}
		}
		return &Schema{Type: Array, Items: b.of(t.Elem(), at(path, "[]"))}
	default:
		n := t.Len()
		m := n
		return &Schema{Type: Array, Items: b.of(t.Elem(), at(path, "[]")), MinItems: &n, MaxItems: &m}
	}
}

func (b *builder) scalar(t reflect.Type, path []string) *Schema {
	s := &Schema{Type: schemaType(t)}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float64:
	case reflect.Float32:
		s.Format = "float"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.Minimum, s.Maximum = intRange(t)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s.Minimum, s.Maximum = intRange(t)
	case reflect.Uintptr, reflect.Complex64, reflect.Complex128, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		b.problem(path, "the Go type "+t.String()+" has no JSON form")
		return &Schema{}
	}
	b.named(t, s, path)
	return s
}

// bits is the width of an integer type; int and uint count as 64 on every machine, since the wire is the same for all.
func bits(t reflect.Type) int {
	if t.Kind() == reflect.Int || t.Kind() == reflect.Uint {
		return 64
	}
	return t.Bits()
}

func intRange(t reflect.Type) (lowest, highest json.Number) {
	shift := 64 - bits(t)
	if t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64 {
		return "0", json.Number(strconv.FormatUint(math.MaxUint64>>shift, 10))
	}
	return json.Number(strconv.FormatInt(math.MinInt64>>shift, 10)), json.Number(strconv.FormatInt(math.MaxInt64>>shift, 10))
}

// widthBound reports whether n is the limit of a Go integer type. Such a bound says only which type the field has.
func widthBound(n json.Number) bool {
	switch n {
	case "-128", "127", "255", "-32768", "32767", "65535", "-2147483648", "2147483647", "4294967295",
		"-9223372036854775808", "9223372036854775807", "18446744073709551615":
		return true
	}
	return false
}

// named adds what the methods of a named type say: Enum, Title, Description.
func (b *builder) named(t reflect.Type, s *Schema, path []string) {
	if t.PkgPath() == "" {
		return
	}
	var r jsonschema.Reflector
	js, err := r.Reflect(reflect.Zero(t).Interface(), jsonschema.InlineRefs, jsonschema.SkipEmbeddedMapsSlices)
	if err != nil {
		b.problem(path, err.Error())
		return
	}
	if js.Title != nil {
		s.Title = *js.Title
	}
	if js.Description != nil {
		s.Description = *js.Description
	}
	for _, v := range js.Enum {
		raw, err := jsontext.Marshal(v)
		if err != nil || !fitsType(raw, s.Type) {
			b.problem(path, fmt.Sprintf("Enum of %s lists %s, which is not of type %s", t, quoteShort(fmt.Sprint(v)), s.Type))
			continue
		}
		s.Enum = append(s.Enum, raw)
	}
}

// schemaExposer is a type that states its own schema, as JSON of the subset that Schema can hold.
type schemaExposer interface{ JSONSchemaBytes() ([]byte, error) }

// oneOfExposer is a type that is one of several others, told apart by their form alone.
type oneOfExposer interface{ JSONSchemaOneOf() []any }

// custom handles types that encode themselves.
func (b *builder) custom(t reflect.Type, path []string) (*Schema, bool) {
	if t.Kind() == reflect.Interface {
		return nil, false
	}
	zero := reflect.New(t)
	if e, ok := zero.Interface().(schemaExposer); ok {
		raw, err := e.JSONSchemaBytes()
		s := &Schema{}
		if err == nil {
			err = s.UnmarshalJSON(raw)
		}
		if err == nil && len(s.Defs) > 0 {
			err = errors.New("$defs are not allowed in it")
		}
		if err != nil {
			b.problem(path, fmt.Sprintf("JSONSchemaBytes of %s: %v", t, err))
			return &Schema{}, true
		}
		return s, true
	}
	if e, ok := zero.Interface().(oneOfExposer); ok {
		s := &Schema{}
		for i, v := range e.JSONSchemaOneOf() {
			if v == nil {
				b.problem(path, fmt.Sprintf("JSONSchemaOneOf of %s lists nil", t))
				continue
			}
			s.OneOf = append(s.OneOf, b.of(reflect.TypeOf(v), at(path, fmt.Sprintf("oneOf[%d]", i))))
		}
		if len(s.OneOf) == 0 {
			b.problem(path, fmt.Sprintf("JSONSchemaOneOf of %s lists nothing", t))
		}
		return s, true
	}
	pointer := reflect.PointerTo(t)
	switch {
	case t.Implements(jsonMarshaler) || pointer.Implements(jsonMarshaler) || pointer.Implements(jsonUnmarshaler):
		b.problem(path, fmt.Sprintf("%s encodes itself (it has or embeds MarshalJSON or UnmarshalJSON); add JSONSchemaBytes() ([]byte, error) with its schema", t))
		return &Schema{}, true
	case t.Implements(textMarshaler) && pointer.Implements(textUnmarshaler):
		s := &Schema{Type: String}
		if t.Kind() != reflect.Struct {
			b.named(t, s, path)
		}
		return s, true
	case pointer.Implements(textMarshaler) || pointer.Implements(textUnmarshaler):
		b.problem(path, fmt.Sprintf("%s reads or writes itself as text, but not both ways; give it MarshalText with a value receiver and UnmarshalText", t))
		return &Schema{}, true
	}
	return nil, false
}

// object derives the schema of a struct type. The reflector reads the vocabulary of the tags; order, names, required,
// nullability and everything exact come from Fields and from the tag itself.
func (b *builder) object(t reflect.Type, path []string) *Schema {
	fields, problems := fieldsOf(t)
	for _, p := range problems {
		b.problem(at(path, p.Path), p.Message)
	}
	if len(fields) == 0 && len(problems) == 0 && hidesFields(t) {
		b.problem(path, fmt.Sprintf("%s has no exported field: nothing of it would travel", t))
	}
	s := &Schema{Type: Object, Strict: true, Properties: make([]Property, 0, len(fields))}
	byName := make(map[string]*fieldSchema, len(fields))
	for _, f := range fields {
		if byName[f.Name] != nil {
			continue
		}
		fs := &fieldSchema{Field: f, path: at(path, f.Name)}
		fs.schema = b.of(f.Type, fs.path)
		if f.Type.Kind() == reflect.Pointer && !f.Nullable {
			fs.schema.Nullable = false
		}
		byName[f.Name] = fs
		s.Properties = append(s.Properties, Property{Name: f.Name, Schema: fs.schema, Required: f.Required})
	}
	before := len(b.problems)
	for _, p := range s.Properties {
		b.exactTags(byName[p.Name])
	}
	if err := b.readTags(t, s, byName); err != nil && len(b.problems) == before && len(problems) == 0 {
		b.problem(path, err.Error())
	}
	for _, p := range s.Properties {
		b.checkField(byName[p.Name])
	}
	return s
}

// hidesFields reports whether a struct has fields that JSON does not see.
func hidesFields(t reflect.Type) bool {
	for i := range t.NumField() {
		if f := t.Field(i); f.Name != "_" && !f.IsExported() {
			return true
		}
	}
	return false
}

// fieldSchema is a field with its schema while it is being built.
type fieldSchema struct {
	Field
	path   []string
	schema *Schema
	read   bool
}

// kind is the JSON type of the field, Any for a union.
func (f *fieldSchema) kind() Type {
	if f.schema.Ref != "" {
		return schemaType(f.Type)
	}
	return f.schema.Type
}

// readTags lets the reflector read the tags of t's own fields; the types of the fields are known already.
func (b *builder) readTags(t reflect.Type, s *Schema, fields map[string]*fieldSchema) error {
	var r jsonschema.Reflector
	js, err := r.Reflect(reflect.Zero(t).Interface(),
		jsonschema.ProcessWithoutTags, jsonschema.SkipEmbeddedMapsSlices, jsonschema.InlineRefs, skipNonConstraints,
		jsonschema.InterceptSchema(func(p jsonschema.InterceptSchemaParams) (bool, error) {
			if len(p.Context.Path) < 2 {
				return false, nil
			}
			if f := fields[p.Context.Path[1]]; f != nil && f.kind() == String {
				p.Schema.AddType(jsonschema.String) // so that a constant needs no quotes
			}
			return true, nil
		}),
		jsonschema.InterceptProp(func(p jsonschema.InterceptPropParams) error {
			if f := fields[p.Name]; f != nil && p.Processed && !f.read {
				f.read = true
				vocabulary(f.schema, p.PropertySchema)
			}
			return nil
		}))
	if err != nil {
		return err
	}
	if js.Title != nil {
		s.Title = *js.Title
	}
	if js.Description != nil {
		s.Description = *js.Description
	}
	for _, f := range fields {
		if !f.read {
			return fmt.Errorf("%s states a schema by a method that is not supported; use JSONSchemaBytes", t)
		}
	}
	return nil
}

// skipNonConstraints keeps the reflector from reading defaults and examples, which it would round.
func skipNonConstraints(rc *jsonschema.ReflectContext) { rc.SkipNonConstraints = true }

// vocabulary copies the keywords that the reflector read from the tags of a field.
func vocabulary(s *Schema, js *jsonschema.Schema) {
	if js.Title != nil {
		s.Title = *js.Title
	}
	if js.Description != nil {
		s.Description = *js.Description
	}
	if js.Format != nil {
		s.Format = *js.Format
	}
	if js.Pattern != nil {
		s.Pattern = *js.Pattern
	}
	count := func(dst **int, n int64) {
		if n > 0 {
			v := int(n)
			*dst = &v
		}
	}
	upper := func(dst **int, n *int64) {
		if n != nil {
			v := int(*n)
			*dst = &v
		}
	}
	count(&s.MinLength, js.MinLength)
	upper(&s.MaxLength, js.MaxLength)
	count(&s.MinItems, js.MinItems)
	upper(&s.MaxItems, js.MaxItems)
	count(&s.MinProperties, js.MinProperties)
	upper(&s.MaxProperties, js.MaxProperties)
	if js.UniqueItems != nil {
		s.UniqueItems = *js.UniqueItems
	}
}

// union derives the schema of a Union.
func (b *builder) union(t reflect.Type, path []string) *Schema {
	v := t.Field(0).Type
	if v.Kind() != reflect.Struct {
		b.problem(path, fmt.Sprintf("the variants of a union must be a struct, not %s", v))
		return &Schema{}
	}
	s := &Schema{Discriminator: reflect.Zero(v).Interface().(Variants).Discriminator()}
	if !ValidName(s.Discriminator) {
		b.problem(path, fmt.Sprintf("the discriminator %s of %s must match ^[a-z][a-zA-Z0-9]*$", quoteShort(s.Discriminator), v))
	}
	seen := map[string]bool{}
	for i := range v.NumField() {
		f := v.Field(i)
		name, ok := f.Tag.Lookup("variant")
		switch {
		case f.Name == "_":
			if d := f.Tag.Get("description"); d != "" {
				s.Description = d
			}
			continue
		case !ok || name == "":
			b.problem(at(path, f.Name), "needs a variant tag, such as `variant:\""+lowerFirst(f.Name)+"\"`")
			continue
		case seen[name]:
			b.problem(at(path, f.Name), "the variant "+quoteShort(name)+" is listed twice")
			continue
		case !f.IsExported() || f.Type.Kind() != reflect.Pointer || f.Type.Elem().Kind() != reflect.Struct:
			b.problem(at(path, f.Name), "a variant must be an exported field with a pointer to a struct")
			continue
		}
		seen[name] = true
		elem := f.Type.Elem()
		if _, self := b.custom(elem, at(path, name)); self || elem == timeType || elem == bytesType || isNull(elem) || isUnion(elem) {
			b.problem(at(path, name), "a variant must be a plain struct")
			continue
		}
		branch := b.object(elem, at(path, name))
		if branch.Property(s.Discriminator) != nil {
			b.problem(at(path, name), "has a field named "+s.Discriminator+", which is the discriminator; leave it out of the struct")
		}
		kind, _ := jsontext.Marshal(name)
		branch.Properties = append([]Property{{Name: s.Discriminator, Required: true, Schema: &Schema{Type: String, Const: kind}}}, branch.Properties...)
		if d := f.Tag.Get("description"); d != "" {
			branch.Description = d
		}
		s.OneOf = append(s.OneOf, branch)
	}
	if len(seen) == 0 {
		b.problem(path, fmt.Sprintf("%s lists no variants", v))
	}
	return s
}
