-- One table holds every bucket. A key is a blob, so that keys are ordered by their bytes.
--
-- The table has a rowid, and the primary key is an index beside it: without a rowid the values would
-- lie between the keys, and from about 1,000 bytes a value on that made the file three times as large
-- and a read three times as slow.
CREATE TABLE entry (
	bucket TEXT NOT NULL,
	key    BLOB NOT NULL,
	value  BLOB NOT NULL,
	PRIMARY KEY (bucket, key)
) STRICT;

-- "bbkv": whose database this is.
PRAGMA application_id = 0x62626b76;
