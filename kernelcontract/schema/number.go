package schema

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// maxExponent bounds the exponents that are computed with; beyond it lies no float64.
const maxExponent = 400

// maxNumberText bounds the digits of a number in a tag; no float64 and no 64-bit integer needs more.
const maxNumberText = 400

// rational returns the exact value of a JSON number; ok is false for text that is none, or one beyond every Go number.
func rational(n json.Number) (*big.Rat, bool) {
	s := string(n)
	if len(s) > maxNumberText || !jsontext.IsNumber(s) {
		return nil, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > maxExponent || e < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(s)
}
