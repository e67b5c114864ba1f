//! What is said first goes before what is said second: options before a file, a stream's own before what is said of all.

use super::{EmbeddedSpec, PhaseSpec, RunSpec, StreamSpec};
use crate::defaults::is_default;

/// What was said first; a default stands for nothing.
fn said<T: Default + PartialEq>(first: T, second: T) -> T {
    if is_default(&first) { second } else { first }
}

macro_rules! or {
    ($spec:ident: $($field:ident)+ $(; $load:ident)?) => {
        impl $spec {
            /// What this says, and what `other` says where this says nothing.
            #[must_use]
            pub fn or(self, other: Self) -> Self {
                Self {
                    $($field: said(self.$field, other.$field),)+
                    $($load: self.$load.or(other.$load),)?
                }
            }
        }
    };
}

or!(EmbeddedSpec: server profile data_dir);
or!(PhaseSpec: warm_up repeat together cold streams);
or!(StreamSpec: name workload script queries folder define answers plans protocol connections max_tries time_limit systems; load);
or!(RunSpec: version about seed prepare top_up no_verify no_telemetry quick threads realtime poller targets systems hooks
    phases front_end);
