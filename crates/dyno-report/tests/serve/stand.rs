//! A store with made-up runs in it, and a server before it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use dyno_report::serve::{self, ServeOptions, Server};
use dyno_results::event::{Event, Stamped};
use dyno_results::store::{RunWriter, Store};
use tempfile::TempDir;

use crate::stream::Plan;

pub(crate) const DAY: &str = "2026-11-20";
pub(crate) const FIRST: &str = "2026-11-20-1";

pub(crate) struct Stand {
    directory: TempDir,
    pub(crate) server: Server,
}

impl Stand {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut ServeOptions)) -> Self {
        let directory = TempDir::new().unwrap();
        let mut options = ServeOptions::new(directory.path().join("dyno.sqlite"), "127.0.0.1:0");
        change(&mut options);
        drop(Store::open(&options.store).unwrap());
        Self { directory, server: serve::spawn(options).unwrap() }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("dyno.sqlite")
    }

    pub(crate) fn begin(&self) -> RunWriter {
        Store::open(self.file()).unwrap().begin_run(DAY).unwrap()
    }

    /// Stores a run that has ended, under its own name; returns that.
    pub(crate) fn stored(&self, events: &[Stamped]) -> String {
        let mut writer = self.begin();
        let name = writer.name().to_owned();
        append(&mut writer, &named(events.to_vec(), &name));
        name
    }
}

pub(crate) fn append(writer: &mut RunWriter, events: &[Stamped]) {
    for stamped in events {
        writer.append(stamped).unwrap();
    }
}

/// The events of a run that has this name.
pub(crate) fn named(mut events: Vec<Stamped>, name: &str) -> Vec<Stamped> {
    if let Event::Started(started) = &mut events[0].event {
        name.clone_into(&mut started.run);
    }
    events
}

/// A run of some seconds.
pub(crate) fn short() -> Vec<Stamped> {
    Plan { ladder: vec![1, 2], rung_s: 3, hold_s: 4, ..Plan::default() }.events()
}

/// Waits for what must come.
#[track_caller]
pub(crate) fn until(what: &str, mut reached: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if reached() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("it did not come to this: {what}");
}
