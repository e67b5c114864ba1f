//! `pgbench -i`: makes the four tables and their rows, step by step, with pgbench's own statements and messages.
