//! Passes on what a client sends, and damages what its server answers: the seed says where and how.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// So many bytes pass unharmed at most, as a power of two: a login, or some result sets.
const UNHARMED_BITS: u32 = 16;

/// Takes connections until it is dropped.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    ended: Arc<AtomicBool>,
}

impl Proxy {
    pub(crate) fn start(server: SocketAddr, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Self { address: listener.local_addr().unwrap(), ended: Arc::default() };
        let ended = Arc::clone(&proxy.ended);
        thread::spawn(move || {
            for (client, number) in listener.incoming().flatten().zip(0..) {
                let random = StdRng::seed_from_u64(seed << 32 | number);
                match TcpStream::connect(server) {
                    Ok(server) if !ended.load(Ordering::SeqCst) => serve(&client, &server, random),
                    _ => return,
                }
            }
        });
        proxy
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // It sees that at the next connection.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(client: &TcpStream, server: &TcpStream, random: StdRng) {
    let [mut requests, mut answered] = [client, client].map(|stream| stream.try_clone().unwrap());
    let [mut asked, mut answers] = [server, server].map(|stream| stream.try_clone().unwrap());
    thread::spawn(move || {
        let _ = std::io::copy(&mut requests, &mut asked);
        let _ = asked.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        pass_on(&mut answers, &mut answered, random);
        let _ = answered.shutdown(Shutdown::Both);
        let _ = answers.shutdown(Shutdown::Both);
    });
}

/// Until the server ends, or the damage is that nothing more comes.
fn pass_on(answers: &mut TcpStream, client: &mut TcpStream, mut random: StdRng) {
    let mut chunk = [0; 16 * 1024];
    let mut unharmed = 1usize << random.random_range(0..UNHARMED_BITS);
    while let Ok(count @ 1..) = answers.read(&mut chunk) {
        let mut bytes = chunk[..count].to_vec();
        let goes_on = if unharmed < count {
            let goes_on = damage(&mut bytes, unharmed, &mut random);
            unharmed = 1 << random.random_range(0..UNHARMED_BITS);
            goes_on
        } else {
            unharmed -= count;
            true
        };
        if client.write_all(&bytes).is_err() || !goes_on {
            return;
        }
    }
}

/// Damages `bytes` from `at` on; false where the connection ends there.
fn damage(bytes: &mut Vec<u8>, at: usize, random: &mut StdRng) -> bool {
    let some = random.random_range(1..=16);
    match random.random_range(0..8) {
        0 => bytes[at] ^= 1 << random.random_range(0..8),
        1 => bytes[at] = random.random(),
        2 => drop(bytes.splice(at..at, (0..some).map(|_| random.random()))),
        3 => drop(bytes.drain(at..(at + some).min(bytes.len()))),
        4 => bytes[at..].fill_with(|| random.random()),
        5 => bytes.extend_from_within(at..),
        // The rest never comes, and the server waits for the client.
        6 => bytes.truncate(at),
        _ => {
            bytes.truncate(at);
            return false;
        }
    }
    true
}
