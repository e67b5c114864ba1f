//! Asks for a password on the terminal, without showing it.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::os::fd::AsFd;

use dyno_wire::endpoint::Password;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The password as typed; `None` if there is no terminal to ask on, or nothing was typed on it.
pub(crate) fn ask_on_terminal() -> Option<Password> {
    // The terminal itself where there is one, whatever the standard streams are.
    let typed = match File::options().read(true).write(true).open("/dev/tty") {
        Ok(terminal) => ask(&terminal, &terminal),
        Err(_) if io::stdin().is_terminal() => ask(&io::stdin(), &io::stderr()),
        Err(_) => return None,
    };
    typed.ok().flatten().map(Password::new)
}

/// `None` at the end of input.
fn ask<I, O>(input: &I, output: &O) -> io::Result<Option<String>>
where
    I: AsFd,
    O: AsFd,
{
    let mut output = File::from(output.as_fd().try_clone_to_owned()?);
    let hidden = Hidden::new(input)?;
    output.write_all(b"Password: ")?;
    let mut line = String::new();
    let read = BufReader::new(File::from(input.as_fd().try_clone_to_owned()?)).read_line(&mut line)?;
    drop(hidden);
    output.write_all(b"\n")?;
    let password = line.trim_end_matches(['\n', '\r']).to_owned();
    Ok((read > 0).then_some(password))
}

/// A terminal that shows nothing of what is typed, until this is dropped.
struct Hidden<'a, I: AsFd> {
    terminal: &'a I,
    before: Termios,
}

impl<'a, I: AsFd> Hidden<'a, I> {
    fn new(terminal: &'a I) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(terminal, OptionalActions::Flush, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl<I: AsFd> Drop for Hidden<'_, I> {
    fn drop(&mut self) {
        // A terminal that is gone has nothing to be put back.
        let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.before);
    }
}
