-- What became of a stretch of a run's seconds, so that a long run is not read second by second again. Made from its events,
-- by its writer; without it all works, only later.
CREATE TABLE IF NOT EXISTS folded (
    run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,          -- the last event that is in it
    made_by INTEGER NOT NULL,      -- differs between programs that understand different blocks
    block BLOB NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT;
