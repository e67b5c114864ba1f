//! `dyno run --live`: the page of the run while it goes, served from the store that the run writes.

use std::path::Path;

use crate::failure::Failure;

/// A server beside a run.
pub(crate) struct LivePage {
    #[cfg(feature = "serve")]
    server: dyno_report::serve::Server,
}

#[cfg(feature = "serve")]
impl LivePage {
    /// How long who watches is told of the run's end.
    const FAREWELL: std::time::Duration = std::time::Duration::from_secs(2);

    /// Begins to serve, before the run begins: what is wrong with the address is no reason to end one.
    pub(crate) fn open(store: &Path, listen: &str) -> Result<Self, Failure> {
        use dyno_report::serve::{self, ServeOptions};
        let token = std::env::var("DYNO_TOKEN").ok().filter(|token| !token.is_empty());
        let server = serve::spawn(ServeOptions { token, ..ServeOptions::new(store.to_owned(), listen) })?;
        Ok(Self { server })
    }

    /// Where the page of a run is.
    pub(crate) fn url(&self, run: &str) -> String {
        self.server.run_url(run)
    }

    pub(crate) fn close(self) {
        self.server.close(Self::FAREWELL);
    }
}

#[cfg(not(feature = "serve"))]
impl LivePage {
    pub(crate) fn open(_: &Path, _: &str) -> Result<Self, Failure> {
        Err(Failure::NotServed)
    }

    pub(crate) fn url(&self, _: &str) -> String {
        String::new()
    }

    pub(crate) fn close(self) {}
}
