package schema

import (
	"encoding/json"
	"reflect"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// Marshal encodes v as its schema demands: like encoding/json, with nil slices and maps as [] and {} where the field
// is not nullable, nil pointers with a default as that default, and without HTML escaping. A caller that encodes many
// values of one type keeps an Encoder instead.
func Marshal(v any) ([]byte, error) { return NewEncoder(reflect.TypeOf(v)).Marshal(v) }

// Encoder encodes values of one Go type as their schema demands. It is safe for concurrent use.
type Encoder struct {
	t    reflect.Type
	fill *filler // nil: encoding/json says it all
}

// NewEncoder prepares an Encoder for values of type t.
func NewEncoder(t reflect.Type) *Encoder {
	e := &Encoder{t: t}
	if t != nil {
		p := fillPlan{fillers: map[reflect.Type]*filler{}}
		if f := p.of(t); p.needed(f) {
			e.fill = f
		}
	}
	return e
}

// Marshal encodes v; a value of another type than the Encoder's is encoded as schema.Marshal does.
func (e *Encoder) Marshal(v any) ([]byte, error) {
	switch {
	case v == nil || e.fill == nil && reflect.TypeOf(v) == e.t:
		return jsontext.Marshal(v)
	case reflect.TypeOf(v) != e.t:
		return Marshal(v)
	}
	if filled, changed := e.fill.apply(reflect.ValueOf(v), 0); changed {
		v = filled.Interface()
	}
	return jsontext.Marshal(v)
}

// maxFillDepth ends the search for nil slices in a cyclic value; encoding/json then reports the cycle.
const maxFillDepth = 1000

// filler knows where values of a type may hold a nil that must not be null on the wire.
type filler struct {
	kind   reflect.Kind
	zero   reflect.Value // what a nil slice or map becomes
	elem   *filler       // of slices, arrays, maps, pointers
	fields []fillField   // of structs
	nils   bool          // this very value may be such a nil
}

type fillField struct {
	index   []int
	f       *filler
	skipNil bool          // a nil is left out (omitempty, omitzero)
	absent  reflect.Value // what a nil pointer becomes; invalid: it stays
}

type fillPlan struct{ fillers map[reflect.Type]*filler }

func (p *fillPlan) of(t reflect.Type) *filler {
	if f := p.fillers[t]; f != nil {
		return f
	}
	f := &filler{kind: t.Kind()}
	p.fillers[t] = f
	if opaque(t) {
		f.kind = reflect.Invalid
		return f
	}
	switch t.Kind() {
	case reflect.Slice:
		f.nils, f.zero, f.elem = true, reflect.MakeSlice(t, 0, 0), p.of(t.Elem())
	case reflect.Map:
		f.nils, f.zero, f.elem = true, reflect.MakeMap(t), p.of(t.Elem())
	case reflect.Array, reflect.Pointer:
		f.elem = p.of(t.Elem())
	case reflect.Struct:
		fields, _ := fieldsOf(t)
		for _, sf := range fields {
			f.fields = append(f.fields, p.field(sf))
		}
	}
	return f
}

func (p *fillPlan) field(sf Field) fillField {
	field := fillField{index: sf.Index, f: p.of(sf.Type), skipNil: sf.OmitZero}
	if sf.HasDefault && !sf.OmitZero && !sf.Nullable && sf.Type.Kind() == reflect.Pointer {
		if v := reflect.New(sf.Type.Elem()); decodeDefault(sf.Default, v) == nil {
			field.absent = v
		}
	}
	return field
}

// decodeDefault reads the text of a default tag into what v points to; a string needs no quotes.
func decodeDefault(text string, v reflect.Value) error {
	raw := []byte(text)
	if schemaType(v.Type().Elem()) == String {
		raw, _ = json.Marshal(text)
	}
	return json.Unmarshal(raw, v.Interface())
}

// needed prunes what cannot hold a nil and reports whether anything is left of f.
func (p *fillPlan) needed(f *filler) bool {
	need := map[*filler]bool{}
	for changed := true; changed; {
		changed = false
		for _, f := range p.fillers {
			if need[f] {
				continue
			}
			n := f.nils || f.elem != nil && need[f.elem]
			for _, field := range f.fields {
				n = n || field.absent.IsValid() || need[field.f]
			}
			if n {
				need[f], changed = true, true
			}
		}
	}
	for _, f := range p.fillers {
		if !need[f.elem] {
			f.elem = nil
		}
		kept := f.fields[:0]
		for _, field := range f.fields {
			if need[field.f] || field.absent.IsValid() {
				kept = append(kept, field)
			}
		}
		f.fields = kept
	}
	return need[f]
}

// apply returns v with every such nil filled, copying only what changes. v itself is never written to.
func (f *filler) apply(v reflect.Value, depth int) (reflect.Value, bool) {
	if depth > maxFillDepth {
		return v, false
	}
	switch f.kind {
	case reflect.Slice, reflect.Map:
		if v.IsNil() {
			return f.zero, true
		}
	case reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
	}
	switch {
	case f.kind == reflect.Struct:
		return f.applyStruct(v, depth)
	case f.elem == nil:
		return v, false
	case f.kind == reflect.Pointer:
		inner, changed := f.elem.apply(v.Elem(), depth+1)
		if !changed {
			return v, false
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(inner)
		return p.Convert(v.Type()), true
	case f.kind == reflect.Map:
		return f.applyMap(v, depth)
	}
	return f.applyList(v, depth)
}

func (f *filler) applyStruct(v reflect.Value, depth int) (reflect.Value, bool) {
	var out reflect.Value
	for _, field := range f.fields {
		fv := v.FieldByIndex(field.index)
		var inner reflect.Value
		changed := false
		switch isNil := (fv.Kind() == reflect.Slice || fv.Kind() == reflect.Map || fv.Kind() == reflect.Pointer) && fv.IsNil(); {
		case isNil && field.absent.IsValid():
			inner, changed = field.absent, true
		case isNil && field.skipNil:
		default:
			inner, changed = field.f.apply(fv, depth+1)
		}
		if !changed {
			continue
		}
		if !out.IsValid() {
			out = reflect.New(v.Type()).Elem()
			out.Set(v)
		}
		out.FieldByIndex(field.index).Set(inner)
	}
	if !out.IsValid() {
		return v, false
	}
	return out, true
}

func (f *filler) applyMap(v reflect.Value, depth int) (reflect.Value, bool) {
	var out reflect.Value
	for iter := v.MapRange(); iter.Next(); {
		inner, changed := f.elem.apply(iter.Value(), depth+1)
		if !changed {
			continue
		}
		if !out.IsValid() {
			out = reflect.MakeMapWithSize(v.Type(), v.Len())
			for all := v.MapRange(); all.Next(); {
				out.SetMapIndex(all.Key(), all.Value())
			}
		}
		out.SetMapIndex(iter.Key(), inner)
	}
	if !out.IsValid() {
		return v, false
	}
	return out, true
}

func (f *filler) applyList(v reflect.Value, depth int) (reflect.Value, bool) {
	var out reflect.Value
	for i := range v.Len() {
		inner, changed := f.elem.apply(v.Index(i), depth+1)
		if !changed {
			continue
		}
		if !out.IsValid() {
			if f.kind == reflect.Slice {
				out = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			} else {
				out = reflect.New(v.Type()).Elem()
			}
			reflect.Copy(out, v)
		}
		out.Index(i).Set(inner)
	}
	if !out.IsValid() {
		return v, false
	}
	return out, true
}
