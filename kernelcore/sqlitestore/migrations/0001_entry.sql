-- One table holds every bucket. Without a rowid the table is its own index; a key is a blob, so that
-- keys are ordered by their bytes.
CREATE TABLE entry (
	bucket TEXT NOT NULL,
	key    BLOB NOT NULL,
	value  BLOB NOT NULL,
	PRIMARY KEY (bucket, key)
) STRICT, WITHOUT ROWID;

-- "bbkv": whose database this is.
PRAGMA application_id = 0x62626b76;
