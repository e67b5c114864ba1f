//! Generators in other processes, as a campaign sees them: one that gives each of them its segment, and puts together what they tell.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command as Program, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use dbdyno::generator::{Connected, Generator, GeneratorError, Observation, Prepare, Signals};
use dyno_results::event::StageFinished;
use dyno_results::spec::{Segment, StageOrder};

use crate::{About, Command, Told};

/// How many generators a dyno has; where it is not set, the program is one.
pub const GENERATORS: &str = "DYNO_TEST_GENERATORS";
/// How often it is looked whether a stage is to end.
const LOOK: Duration = Duration::from_millis(20);

/// Several processes, each of which generates its segment of a phase's load.
#[derive(Debug)]
pub struct Processes {
    processes: Vec<Process>,
    /// What they tell of all streams, and of each.
    of_all: Mutex<Receiver<Told>>,
    of_streams: Vec<Mutex<Receiver<Told>>>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    /// `None` once it is to end.
    commands: Mutex<Option<ChildStdin>>,
}

impl Processes {
    /// Starts so many, on this program, and prepares them.
    pub fn prepare(prepare: &Prepare, count: u32) -> Result<Box<dyn Generator>, GeneratorError> {
        let streams = prepare.spec.phases[prepare.phase as usize].streams.len();
        let commands = (0..count).map(|at| {
            let segment = Segment::new(at, count).unwrap();
            Command::Prepare(Prepare { segment, ..prepare.clone() })
        });
        let program = std::env::current_exe().unwrap();
        Ok(Box::new(Self::start(&program, streams, commands)?))
    }

    /// Starts one for each of these commands, by which they are prepared.
    pub fn start(
        program: &std::path::Path,
        streams: usize,
        commands: impl Iterator<Item = Command>,
    ) -> Result<Self, GeneratorError> {
        let (to_all, of_all) = channel();
        let (to_streams, of_streams): (Vec<_>, Vec<_>) = (0..streams).map(|_| channel()).unzip();
        let mut processes = Vec::new();
        for command in commands {
            let process = Process::start(program, to_all.clone(), to_streams.clone());
            process.tell(None, &command);
            processes.push(process);
        }
        let of_streams = of_streams.into_iter().map(Mutex::new).collect();
        let all = Self { processes, of_all: Mutex::new(of_all), of_streams };
        all.wait_until_done(&mut |_, _| {})?;
        Ok(all)
    }

    fn tell(&self, about: About, command: &Command) {
        self.processes.iter().for_each(|process| process.tell(about, command));
    }

    /// Waits until each has done what it was told last.
    fn wait_until_done(&self, observe: &mut dyn FnMut(u32, Observation)) -> Result<(), GeneratorError> {
        let told = self.of_all.lock().unwrap();
        let (mut left, mut refused) = (self.processes.len(), None);
        while left > 0 {
            match told.recv() {
                Ok(Told::Done) => left -= 1,
                Ok(Told::Refused(why)) => (left, refused) = (left - 1, Some(why)),
                Ok(Told::Behind(stream, observation)) => observe(stream, observation),
                other => panic!("{other:?}"),
            }
        }
        refused.map_or(Ok(()), Err)
    }

    fn of_stream(&self, stream: u32) -> MutexGuard<'_, Receiver<Told>> {
        self.of_streams[stream as usize].lock().unwrap()
    }

    /// The next that they tell of a stream; meanwhile it is looked whether it is to end.
    fn next(&self, told: &Receiver<Told>, look: &mut dyn FnMut()) -> Told {
        loop {
            look();
            match told.recv_timeout(LOOK) {
                Ok(told) => return told,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("a generator is gone"),
            }
        }
    }

    /// Tells a command once when a flag is set.
    fn relay<'s>(&'s self, stream: u32, flag: Option<&'s AtomicBool>, command: Command) -> impl FnMut() {
        let mut is_told = false;
        move || {
            if !is_told && flag.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                is_told = true;
                self.tell(Some(stream), &command);
            }
        }
    }
}

impl Generator for Processes {
    fn connect(&self, stream: u32, clients: u32, stop: &AtomicBool) -> Result<Connected, GeneratorError> {
        let told = self.of_stream(stream);
        let mut cancel = self.relay(stream, Some(stop), Command::Cancel);
        self.tell(Some(stream), &Command::Connect { clients });
        let (mut all, mut refused): (Option<Connected>, _) = (None, None);
        for _ in &self.processes {
            match self.next(&told, &mut cancel) {
                Told::Connected(one) => {
                    all =
                        Some(all.map_or(one.clone(), |all| Connected {
                            threads: all.threads + one.threads,
                            ..all
                        }));
                }
                Told::Refused(why) => refused = Some(why),
                other => panic!("{other:?}"),
            }
        }
        refused.map_or_else(|| Ok(all.expect("there is a generator")), Err)
    }

    fn start(
        &self,
        stream: u32,
        order: &StageOrder,
        signals: Signals<'_>,
        observe: &mut dyn FnMut(Observation),
    ) {
        let told = self.of_stream(stream);
        let mut cancel = self.relay(stream, Some(signals.stop), Command::Cancel);
        let mut over = self.relay(stream, signals.over, Command::Over);
        self.tell(Some(stream), &Command::Start(*order));
        let (mut left, mut why) = (self.processes.len(), None);
        let mut all = StageFinished { stage: order.stage, complete: true, ..StageFinished::default() };
        while left > 0 {
            let look = &mut || {
                cancel();
                over();
            };
            match self.next(&told, look) {
                Told::Observed(Observation::End { finished, broken }) => {
                    left -= 1;
                    why = why.or(broken);
                    all = StageFinished {
                        stage: order.stage,
                        seconds: all.seconds.max(finished.seconds),
                        drain_s: all.drain_s.max(finished.drain_s),
                        complete: all.complete && finished.complete,
                        clients_aborted: all.clients_aborted + finished.clients_aborted,
                        not_begun: all.not_begun + finished.not_begun,
                        realtime: finished.realtime,
                    };
                }
                Told::Observed(observation) => observe(observation),
                other => panic!("{other:?}"),
            }
        }
        observe(Observation::End { finished: all, broken: why });
    }

    fn disconnect(&self) {
        self.tell(None, &Command::Disconnect);
        self.wait_until_done(&mut |_, _| {}).expect("nobody refuses that");
    }

    fn stop(&self, observe: &mut dyn FnMut(u32, Observation)) {
        self.tell(None, &Command::Stop);
        self.wait_until_done(observe).expect("nobody refuses that");
    }
}

impl Process {
    fn start(program: &std::path::Path, to_all: Sender<Told>, to_streams: Vec<Sender<Told>>) -> Self {
        let mut program = Program::new(program);
        program.env_remove(GENERATORS).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = program.spawn().unwrap();
        let (commands, told) = (child.stdin.take(), child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in BufReader::new(told).lines() {
                let (about, told): (About, Told) = serde_json::from_str(&line.unwrap()).unwrap();
                let to = about.map_or(&to_all, |stream| &to_streams[stream as usize]);
                // Where nobody waits for it any more the run is over.
                let _ = to.send(told);
            }
        });
        Self { child, commands: Mutex::new(commands) }
    }

    fn tell(&self, about: About, command: &Command) {
        let line = serde_json::to_string(&(about, command)).unwrap();
        let mut commands = self.commands.lock().unwrap();
        writeln!(commands.as_mut().unwrap(), "{line}").unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        *self.commands.lock().unwrap() = None;
        let _ = self.child.wait();
    }
}
