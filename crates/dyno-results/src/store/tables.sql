-- A run: its name and a summary of what is known of it so far, kept by the writer so that lists are cheap.
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,     -- 2026-11-20-1
    day TEXT NOT NULL,             -- 2026-11-20
    number INTEGER NOT NULL,       -- 1, 2, ... within the day
    started_at TEXT,               -- RFC 3339
    outcome TEXT,                  -- complete, incomplete; NULL while it goes on, and where it was killed
    reason TEXT,                   -- why it is incomplete
    summary TEXT NOT NULL,         -- JSON: command, targets, throughput of each series
    checksum INTEGER NOT NULL,     -- of the row
    UNIQUE (day, number)
) STRICT;

-- The stream of a run, appended as it happens and never changed.
CREATE TABLE event (
    run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,          -- 0, 1, 2, ... within the run
    at_ms INTEGER NOT NULL,        -- milliseconds since the run started
    kind TEXT NOT NULL,            -- started, target, stage-started, interval, sample, ...
    body TEXT NOT NULL,            -- the event as JSON
    checksum INTEGER NOT NULL,     -- of the row, and of where the one before it stands
    PRIMARY KEY (run_id, seq)
) STRICT;

CREATE INDEX event_by_kind ON event (run_id, kind, seq);

-- What the events of a stretch of a run come to: columns and sums, from which a run of a day is read in a second. Made from the
-- events by the writer; one that is missing costs nothing but time.
CREATE TABLE block (
    run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,          -- the last event that is in it
    format INTEGER NOT NULL,       -- who knows another one reads the events
    content BLOB NOT NULL,
    checksum INTEGER NOT NULL,     -- of the row, of where the one before it stands, and of the rare events up to it
    PRIMARY KEY (run_id, seq)
) STRICT;
