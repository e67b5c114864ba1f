//! Servers that are none: a greeting and a login out of pieces that a seed chooses, in an order that makes sense or none;
//! then they go on without an end, byte by byte or not at all, or leave. All connections with one seed meet the same.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// So much at a time is said without an end.
const FLOOD_BYTES: usize = 64 * 1024;
/// The pause between two bytes of one that takes its time.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes connections until it is dropped.
pub(crate) struct Inventor {
    pub(crate) address: SocketAddr,
    /// The most that one client took, as far as the system says, before it was let in.
    pub(crate) taken: Arc<AtomicUsize>,
    ended: Arc<AtomicBool>,
}

impl Inventor {
    pub(crate) fn start(is_mysql: bool, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let inventor = Self { address, taken: Arc::default(), ended: Arc::default() };
        let (taken, ended) = (Arc::clone(&inventor.taken), Arc::clone(&inventor.ended));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let most = Arc::clone(&taken);
                let random = StdRng::seed_from_u64(seed);
                let speech = Speech { is_mysql, random, heard: Vec::new(), sequence: 0 };
                thread::spawn(move || Meeting { client, speech, taken: 0, welcomed: false, most }.hold());
            }
        });
        inventor
    }
}

impl Drop for Inventor {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // It sees that at the next connection.
        let _ = TcpStream::connect(self.address);
    }
}

/// With one client.
struct Meeting {
    client: TcpStream,
    speech: Speech,
    taken: usize,
    /// It may have been let in.
    welcomed: bool,
    most: Arc<AtomicUsize>,
}

impl Meeting {
    /// Until one of both has gone; `None` is an early end.
    fn hold(mut self) -> Option<()> {
        if self.speech.is_mysql {
            let greeting = self.speech.greeting();
            self.say_piece(&greeting)?;
        } else {
            self.hear()?;
        }
        for _ in 0..self.speech.random.random_range(1..8) {
            let piece = self.speech.piece();
            match self.speech.random.random_range(0..12) {
                0 => return self.say_for_ever(&piece),
                1 => {
                    let bytes = self.speech.framed(&piece);
                    return bytes.iter().cycle().try_for_each(|byte| {
                        thread::sleep(PAUSE);
                        self.say(&[*byte])
                    });
                }
                2 => {
                    let mut bytes = self.speech.framed(&piece);
                    self.speech.damage(&mut bytes);
                    self.say(&bytes)?;
                }
                3 => return self.listen(),
                _ => self.say_piece(&piece)?,
            }
        }
        if self.speech.random.random() { self.listen() } else { None }
    }

    /// Says it, and waits for an answer where one is due.
    fn say_piece(&mut self, piece: &Piece) -> Option<()> {
        let bytes = self.speech.framed(piece);
        self.welcomed |= piece.welcomes;
        self.say(&bytes)?;
        if piece.asks { self.hear() } else { Some(()) }
    }

    /// As if each were answered, and never listening.
    fn say_for_ever(&mut self, piece: &Piece) -> Option<()> {
        self.welcomed |= piece.welcomes;
        loop {
            let mut bytes = Vec::new();
            while bytes.len() < FLOOD_BYTES {
                bytes.extend(self.speech.framed(piece));
                self.speech.sequence = self.speech.sequence.wrapping_add(piece.asks.into());
            }
            self.say(&bytes)?;
        }
    }

    fn say(&mut self, bytes: &[u8]) -> Option<()> {
        self.client.write_all(bytes).ok()?;
        self.taken += bytes.len();
        if !self.welcomed {
            self.most.fetch_max(self.taken, Ordering::SeqCst);
        }
        Some(())
    }

    fn hear(&mut self) -> Option<()> {
        let mut heard = [0; 16 * 1024];
        match self.client.read(&mut heard) {
            Ok(count @ 1..) => self.speech.heard = heard[..count].to_vec(),
            _ => return None,
        }
        match self.speech.heard.get(..8) {
            Some([0, 0, 0, 8, 4, 210, 22, 47]) => {
                let answer =
                    self.speech.one(&[&b"N"[..], b"N", b"N", b"N", b"N", b"N", b"N", b"S", b"E", b"NR"]);
                self.say(answer)?;
                self.hear()
            }
            _ => Some(()),
        }
    }

    fn listen(&mut self) -> Option<()> {
        loop {
            self.hear()?;
        }
    }
}

/// What is said, but for its frame.
struct Piece {
    /// PostgreSQL's type byte.
    tag: u8,
    body: Vec<u8>,
    /// Whoever takes it for true answers.
    asks: bool,
    /// Whoever takes it for true is let in.
    welcomes: bool,
}

struct Speech {
    is_mysql: bool,
    random: StdRng,
    /// The client's last words.
    heard: Vec<u8>,
    /// Of MySQL's next packet.
    sequence: u8,
}

const PLUGINS: [&[u8]; 11] = [
    b"mysql_native_password",
    b"mysql_native_password",
    b"mysql_native_password",
    b"caching_sha2_password",
    b"caching_sha2_password",
    b"sha256_password",
    b"client_ed25519",
    b"mysql_clear_password",
    b"mysql_old_password",
    b"auth_gssapi_client",
    b"",
];
const MECHANISMS: [&[u8]; 5] = [
    b"SCRAM-SHA-256\0\0",
    b"SCRAM-SHA-256\0\0",
    b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0",
    b"OAUTHBEARER\0\0",
    b"",
];
const ITERATIONS: [&str; 7] = ["4096", "4096", "4096", "0", "4294967295", "-1", ""];

impl Speech {
    fn piece(&mut self) -> Piece {
        if self.is_mysql { self.mysql_piece() } else { self.postgres_piece() }
    }

    fn postgres_piece(&mut self) -> Piece {
        // What the protocol has next, as often as anything.
        let next = match self.heard.get(..6) {
            Some([b'p', .., b'S']) => 5,
            Some([b'p', ..]) => 0,
            _ => 3,
        };
        let choice = if self.random.random() { next } else { self.random.random_range(0..13) };
        let (tag, body) = match choice {
            0 | 1 => (b'R', vec![0; 4]),
            2 => (b'R', [&[0, 0, 0, 5], &self.bytes(4)[..]].concat()),
            3 | 4 => (b'R', [&[0, 0, 0, 10][..], self.one(&MECHANISMS)].concat()),
            5 | 6 => {
                let (nonce, count) = (self.nonce(), self.one(&ITERATIONS));
                let salt = self.one(&["c2FsdA==", "c2FsdA==", "c2FsdA==", "c2FsdA==", "?", ""]);
                let text = format!("r={nonce}x,s={salt},i={count}");
                (b'R', [&[0, 0, 0, 11], text.as_bytes()].concat())
            }
            7 => {
                let method = self.one(&[0_u32, 2, 3, 6, 7, 8, 9, 12, 13, u32::MAX]);
                (b'R', [&method.to_be_bytes(), &self.text()[..]].concat())
            }
            8 => (b'S', [self.text(), vec![0], self.text(), vec![0]].concat()),
            9 => {
                let (tag, end) = (self.one(b"EN"), self.one(&[&[0][..], &[]]));
                (tag, [&b"SFATAL\0C08P01\0M"[..], &self.text(), &[0], end].concat())
            }
            10 => {
                let [minor, options] = [(); 2].map(|()| self.one(&[0_u32, 1, 2, u32::MAX]).to_be_bytes());
                (b'v', [&minor[..], &options, &self.text(), &[0]].concat())
            }
            11 => {
                let (tag, bytes) = (self.one(b"KZ1CDTGdt"), self.random.random_range(0..300));
                (tag, if tag == b'Z' { b"I".to_vec() } else { self.bytes(bytes) })
            }
            _ => (self.random.random(), self.text()),
        };
        let asks = tag == b'R' && !matches!(body.get(3), Some(0 | 12));
        Piece { tag, body, asks, welcomes: tag == b'Z' }
    }

    fn mysql_piece(&mut self) -> Piece {
        let body = match self.random.random_range(0..11) {
            0..=2 => {
                let challenge = self.random.random_range(0..40);
                [&b"\xfe"[..], self.one(&PLUGINS), &[0], &self.bytes(challenge)].concat()
            }
            3 => vec![0xfe],
            4 => vec![1, 3],
            5 => vec![1, 4],
            6 => {
                [&b"\x01-----BEGIN PUBLIC KEY-----\nMIIB"[..], &[b'A'; 4000], b"\n-----END PUBLIC KEY-----\n"]
                    .concat()
            }
            7 => vec![0, 0, 0, 2, 0, 0, 0],
            8 => [&b"\xff\x15\x04#28000"[..], &self.text()].concat(),
            9 => [&[self.one(&[0, 1, 2, 0xfb, 0xff])][..], &self.text()].concat(),
            _ => self.text(),
        };
        let asks = matches!(body[..], [0xfe, ..] | [1, 4]);
        let welcomes = matches!(body[..], [0, ..]);
        Piece { tag: 0, body, asks, welcomes }
    }

    /// MySQL's first packet.
    fn greeting(&mut self) -> Piece {
        let version = if self.rarely() { self.one(&[9, 11, 0xff]) } else { 10 };
        let named = [b"9.7.4", &b"5.5.5-10.11.19-MariaDB"[..], b"", &self.text()];
        let capabilities = match self.rarely() {
            true => self.one(&[0x9fff_ffff_u32, 0x0000_f7ff, 0, u32::MAX]),
            false => 0x9fff_f7ff,
        };
        let [low, high] = [capabilities as u16, (capabilities >> 16) as u16].map(u16::to_le_bytes);
        let mut body = [&[version][..], self.one(&named), &[0], &[7; 4], &self.bytes(8), &[0]].concat();
        body.extend([low, [45, 2], [0, high[0]]].concat());
        body.extend([high[1], self.one(&[21, 21, 21, 0, 8, 255])]);
        body.extend([&[0; 10][..], &self.bytes(12), &[0], self.one(&PLUGINS), &[0]].concat());
        if self.rarely() {
            body.truncate(self.random.random_range(0..body.len()));
        }
        Piece { tag: 0, body, asks: version == 10, welcomes: false }
    }

    /// As its protocol frames it.
    fn framed(&mut self, piece: &Piece) -> Vec<u8> {
        if self.is_mysql {
            // Behind what the client said.
            if let Some(sequence) = std::mem::take(&mut self.heard).get(3) {
                self.sequence = sequence.wrapping_add(1);
            }
            let length = (piece.body.len() as u32).to_le_bytes();
            let header = [length[0], length[1], length[2], self.sequence];
            self.sequence = self.sequence.wrapping_add(1);
            return [&header, &piece.body[..]].concat();
        }
        let length = (piece.body.len() as u32 + 4).to_be_bytes();
        [&[piece.tag][..], &length, &piece.body].concat()
    }

    /// A part of it, more than it, or another length.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        let at = self.random.random_range(0..bytes.len());
        match self.random.random_range(0..4) {
            0 => bytes.truncate(at),
            1 => bytes[at] = self.random.random(),
            2 => bytes.extend(self.text()),
            _ => bytes[self.random.random_range(0..3)] = self.one(&[0, 0x3f, 0x7f, 0xff]),
        }
    }

    /// What the client gave for it to be repeated.
    fn nonce(&self) -> String {
        let heard = String::from_utf8_lossy(&self.heard);
        heard.rsplit_once("r=").map(|(_, nonce)| nonce.to_owned()).unwrap_or_default()
    }

    fn text(&mut self) -> Vec<u8> {
        match self.random.random_range(0..6) {
            0 => Vec::new(),
            1 => b"server_version".to_vec(),
            2 => vec![b'x'; 20_000],
            3 => vec![b'x'; 100_000],
            4 => vec![0; 3],
            _ => {
                let count = self.random.random_range(0..64);
                self.bytes(count)
            }
        }
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.random.random()).collect()
    }

    fn rarely(&mut self) -> bool {
        self.random.random_range(0..8) == 0
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.random_range(0..of.len())]
    }
}
