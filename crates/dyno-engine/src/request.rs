//! Statements and how a client's request is put into protocol messages for the three protocol modes.
