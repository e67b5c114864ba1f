//! What pgbench does before a run: it looks at the tables that are there, and vacuums them.
