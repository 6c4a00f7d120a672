package screen

import "encoding/binary"

// emptyLoop is a loop without a body: where compiled code looks at its deadline.
var emptyLoop = [...]byte{0x03, 0x40, 0x0b}

// readCode checks every function and returns the section with an empty loop at the beginning of each.
func (s *screen) readCode(r *reader) []byte {
	s.bodies = r.count("functions", MaxFunctions)
	out := make([]byte, 0, len(r.raw)+int(s.bodies)*(len(emptyLoop)+1))
	out = binary.AppendUvarint(out, uint64(s.bodies))
	for range s.bodies {
		size := r.u32()
		if size > MaxFunction {
			r.fail("a function has %d bytes, over %d", size, MaxFunction)
		}
		f := r.part(size)
		locals := uint64(0)
		for range f.count("kinds of locals", MaxLocals) {
			locals += f.unsigned(32)
			valueLetter(f)
		}
		if locals > MaxLocals {
			f.fail("a function has %d locals, over %d", locals, MaxLocals)
		}
		begin := f.pos
		expression(f)
		if f.left() > 0 {
			f.fail("a function goes on behind its end")
		}
		if f.err != nil {
			r.err = f.err
			return nil
		}
		out = binary.AppendUvarint(out, uint64(len(f.raw)+len(emptyLoop)))
		out = append(out, f.raw[:begin]...)
		out = append(out, emptyLoop[:]...)
		out = append(out, f.raw[begin:]...)
	}
	return out
}

// expression reads instructions up to the end that belongs to the function. What they mean is for the compiler to check; here
// they are only told apart, and those counted that take long.
func expression(r *reader) {
	depth, bulk := 1, 0
	for depth > 0 && r.left() > 0 {
		switch op := r.byte(); {
		case op == 0x02 || op == 0x03 || op == 0x04: // block, loop, if
			r.signed(33)
			if depth++; depth > MaxDepth {
				r.fail("blocks nest deeper than %d", MaxDepth)
			}
		case op == 0x0b: // end
			depth--
		case op == 0x0c || op == 0x0d || op == 0x10: // br, br_if, call
			r.u32()
		case op == 0x0e: // br_table
			for range r.count("targets of a jump", maxBranches) + 1 {
				r.u32()
			}
		case op == 0x11: // call_indirect
			r.u32()
			r.u32()
		case op <= 0x01 || op == 0x05 || op == 0x0f || op == 0x1a || op == 0x1b: // unreachable, nop, else, return, drop, select
		case op >= 0x20 && op <= 0x24: // locals and globals
			r.u32()
		case op >= 0x28 && op <= 0x3e: // loads and stores
			r.u32()
			r.u32()
		case op == 0x3f || op == 0x40: // memory.size, memory.grow
			r.byte()
		case op == 0x41: // i32.const
			r.signed(32)
		case op == 0x42: // i64.const
			r.signed(64)
		case op == 0x43: // f32.const
			r.take(4)
		case op == 0x44: // f64.const
			r.take(8)
		case op >= 0x45 && op <= 0xc4: // arithmetic
		case op == 0xfc:
			if long(r) {
				if bulk++; bulk > MaxBulk {
					r.fail("a function has more than %d instructions that fill or copy memory", MaxBulk)
				}
			}
		default:
			r.fail("the instruction 0x%02x is not allowed", op)
		}
	}
	if depth > 0 {
		r.fail("a function has no end")
	}
}

// long reads an instruction behind the prefix 0xfc and reports whether it works on whole ranges of memory.
func long(r *reader) bool {
	switch op := r.u32(); {
	case op <= 7: // conversions that saturate
		return false
	case op == 8 || op == 10 || op == 12 || op == 14: // memory.init, memory.copy, table.init, table.copy
		r.u32()
		r.u32()
	case op == 9 || op == 11 || op == 13: // data.drop, memory.fill, elem.drop
		r.u32()
	default:
		r.fail("the instruction 0xfc %d is not allowed", op)
	}
	return true
}
