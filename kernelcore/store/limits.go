package store

import "fmt"

// Limits of what a store takes. They keep one record small enough to be read, copied and sent whole.
const (
	// MaxBucket is the length of a bucket's name in bytes: buckets are named by programs, and 255 is
	// what file systems and other databases also allow for a name.
	MaxBucket = 255

	// MaxKey is the length of a key in bytes: several keys then fit on one page of a B-tree.
	MaxKey = 1024

	// MaxValue is the size of a value in bytes. The largest thing that is kept whole is an item of a bridge, whose line has
	// up to 8 MiB and can double when it is encoded anew. Larger things belong in files.
	MaxValue = 32 << 20
)

// CheckBucket returns an [*InvalidError] unless bucket can name a bucket.
func CheckBucket(bucket string) error {
	if bucket == "" || len(bucket) > MaxBucket {
		return &InvalidError{Part: "bucket", Problem: fmt.Sprintf("has %d bytes; use 1 to %d", len(bucket), MaxBucket)}
	}
	for i := range len(bucket) {
		if c := bucket[i]; c <= ' ' || c > '~' {
			return &InvalidError{Part: "bucket", Problem: fmt.Sprintf("%q holds %q; use printable ASCII without spaces", bucket, c)}
		}
	}
	return nil
}

// CheckKey returns an [*InvalidError] unless bucket and key can name a record.
func CheckKey(bucket, key string) error {
	if err := CheckBucket(bucket); err != nil {
		return err
	}
	if key == "" || len(key) > MaxKey {
		return &InvalidError{Part: "key", Problem: fmt.Sprintf("in bucket %s has %d bytes; use 1 to %d", bucket, len(key), MaxKey)}
	}
	return nil
}

// CheckRecord returns an [*InvalidError] unless the three can be stored.
func CheckRecord(bucket, key string, value []byte) error {
	if err := CheckKey(bucket, key); err != nil {
		return err
	}
	if len(value) > MaxValue {
		return &InvalidError{Part: "value", Problem: fmt.Sprintf("of %s %q has %d bytes; at most %d fit, keep larger ones in a file", bucket, key, len(value), MaxValue)}
	}
	return nil
}
