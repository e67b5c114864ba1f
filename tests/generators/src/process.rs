//! A generator in a process of its own: commands come in, and what it tells goes out. It knows nothing but what it is told.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dbdyno::generator::{Generator, LocalGenerator, Signals};

use crate::lua::LuaGenerator;
use crate::{About, Command, Told};

/// By which a stream's stage is ended.
#[derive(Debug, Default)]
struct Ends {
    stop: AtomicBool,
    over: AtomicBool,
}

/// Does what it is told until nobody tells it anything any more.
pub fn run() -> ExitCode {
    let mut generator: Option<Arc<dyn Generator>> = None;
    let mut ends: BTreeMap<u32, Arc<Ends>> = BTreeMap::new();
    for line in std::io::stdin().lines() {
        let (about, command): (About, Command) = serde_json::from_str(&line.unwrap()).unwrap();
        match (command, about, generator.clone()) {
            (Command::Prepare(prepare), ..) => {
                let prepared = LocalGenerator::of(&prepare);
                tell(about, &prepared.as_ref().map_or_else(|why| Told::Refused(why.clone()), |_| Told::Done));
                generator = prepared.ok().map(|it| Arc::new(it) as Arc<dyn Generator>);
            }
            (Command::PrepareLua { text, url, clients, segment }, ..) => {
                generator = Some(Arc::new(LuaGenerator::new(text, &url, clients, segment)));
                tell(about, &Told::Done);
            }
            (Command::Disconnect, _, Some(generator)) => {
                generator.disconnect();
                tell(about, &Told::Done);
            }
            (Command::Stop, _, Some(generator)) => {
                generator.stop(&mut |stream, observation| tell(about, &Told::Behind(stream, observation)));
                tell(about, &Told::Done);
            }
            (command, Some(stream), Some(generator)) => {
                let own = Arc::clone(ends.entry(stream).or_default());
                match command {
                    Command::Over => own.over.store(true, Ordering::Relaxed),
                    Command::Cancel => own.stop.store(true, Ordering::Relaxed),
                    command => {
                        if matches!(command, Command::Connect { .. }) {
                            own.stop.store(false, Ordering::Relaxed);
                            own.over.store(false, Ordering::Relaxed);
                        }
                        std::thread::spawn(move || carry_out(generator.as_ref(), stream, &command, &own));
                    }
                }
            }
            (command, ..) => panic!("{command:?} about {about:?}"),
        }
    }
    // Whoever gave the orders is gone.
    ExitCode::SUCCESS
}

/// Does what takes a while.
fn carry_out(generator: &dyn Generator, stream: u32, command: &Command, Ends { stop, over }: &Ends) {
    match command {
        Command::Connect { clients } => match generator.connect(stream, *clients, stop) {
            Ok(connected) => tell(Some(stream), &Told::Connected(connected)),
            Err(why) => tell(Some(stream), &Told::Refused(why)),
        },
        Command::Start(order) => {
            let signals = Signals { stop, over: Some(over) };
            let mut observe = |observation| tell(Some(stream), &Told::Observed(observation));
            generator.start(stream, order, signals, &mut observe);
        }
        command => panic!("{command:?}"),
    }
}

fn tell(about: About, told: &Told) {
    let line = serde_json::to_string(&(about, told)).unwrap();
    // Where nobody listens any more there is nothing to tell.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
