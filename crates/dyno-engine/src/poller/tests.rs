use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use super::{Poller, Ready, Socket, Uring, refusal};
use crate::error::SessionError;

const WATCHED: u64 = u64::MAX;
/// Longer than anything takes that is waited for.
const LONG_NS: u64 = 60_000_000_000;
const SHORT_NS: u64 = 1_000_000;

/// A poller of each kind that there is here.
fn pollers() -> Vec<Poller> {
    let rings = match Uring::new() {
        Ok(ring) => vec![ring],
        Err(error) => {
            println!("skipped: io_uring: {}", refusal(error));
            Vec::new()
        }
    };
    let pollers = std::iter::once(None).chain(rings.into_iter().map(Some));
    pollers.map(|ring| Poller::new(ring, 64 * 1024).unwrap()).collect()
}

/// Those, begun.
fn begun() -> Vec<Poller> {
    pollers().into_iter().map(begin).collect()
}

fn begin(mut poller: Poller) -> Poller {
    poller.begin(eventfd(0, EventfdFlags::NONBLOCK).unwrap(), WATCHED).unwrap();
    poller
}

/// A ring, begun, if there is one.
fn ring() -> Option<Poller> {
    pollers().into_iter().nth(1).map(begin)
}

/// Waits until something is ready.
fn ready(poller: &mut Poller) -> Ready {
    loop {
        if let Some(ready) = poller.next_ready() {
            return ready;
        }
        poller.wait(Some(LONG_NS)).unwrap();
    }
}

/// A connected socket of the poller's, and its other end.
fn connected(poller: &mut Poller, token: u64) -> (Socket, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    far.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut socket = poller.add(near.into(), token).unwrap();
    let ready = ready(poller);
    assert!(ready.token == token && ready.writable);
    poller.finish_connect(&socket).unwrap();
    poller.wait_until_writable(&mut socket, false).unwrap();
    (socket, far)
}

/// All that comes, up to so many bytes.
fn receive(poller: &mut Poller, socket: &mut Socket, token: u64, bytes: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < bytes {
        assert_eq!(ready(poller).token, token);
        if poller.receive(socket).unwrap().is_some() {
            all.extend_from_slice(poller.received());
        }
    }
    all
}

/// Bytes in which none stands where another could.
fn numbers(count: u32) -> Vec<u8> {
    (0..count).flat_map(u32::to_be_bytes).collect()
}

#[test]
fn bytes_go_both_ways() {
    for mut poller in begun() {
        let (mut socket, mut far) = connected(&mut poller, 7);
        for _ in 0..3 {
            assert_eq!(poller.send(&socket, b"question").unwrap(), 8);
            poller.wait(Some(0)).unwrap();
            let mut question = [0; 8];
            far.read_exact(&mut question).unwrap();
            assert_eq!(&question, b"question");
            far.write_all(b"answer").unwrap();
            assert_eq!(receive(&mut poller, &mut socket, 7, 6), b"answer");
            assert!(poller.receive(&mut socket).unwrap().is_none());
        }
        drop(far);
        ready(&mut poller);
        assert_eq!(poller.receive(&mut socket).unwrap(), Some(0));
    }
}

#[test]
fn a_send_that_fails_is_told_as_a_send() {
    for mut poller in begun() {
        let (mut socket, far) = connected(&mut poller, 7);
        drop(far);
        let mut told = poller.send(&socket, b"question").err();
        while told.is_none() {
            ready(&mut poller);
            told = poller.receive(&mut socket).err();
        }
        assert!(matches!(told, Some(SessionError::Io { doing: "send", .. })), "{told:?}");
    }
}

#[test]
fn what_comes_to_a_socket_that_is_set_aside_is_heard_when_it_is_used_again() {
    for mut poller in begun() {
        let (mut aside, mut far) = connected(&mut poller, 7);
        let (mut used, mut other) = connected(&mut poller, 7);
        poller.set_aside(&aside).unwrap();
        far.write_all(b"first").unwrap();
        other.write_all(b"second").unwrap();
        assert_eq!(receive(&mut poller, &mut used, 7, 6), b"second");
        poller.wait(Some(SHORT_NS)).unwrap();
        assert!(poller.next_ready().is_none());
        poller.set_aside(&used).unwrap();
        poller.use_again(&aside).unwrap();
        assert_eq!(receive(&mut poller, &mut aside, 7, 5), b"first");
    }
}

#[test]
fn what_was_sent_before_a_socket_is_closed_arrives_and_then_its_end() {
    for mut poller in begun() {
        for token in 0..600 {
            let (socket, mut far) = connected(&mut poller, token);
            far.write_all(b"unheard").unwrap();
            poller.send(&socket, b"goodbye").unwrap();
            poller.close(socket);
            poller.wait(Some(0)).unwrap();
            assert!(poller.next_ready().is_none());
            let mut last = [0; 7];
            far.read_exact(&mut last).unwrap();
            assert_eq!(&last, b"goodbye");
            // What is unheard makes it a reset.
            assert!(matches!(far.read(&mut last), Ok(0) | Err(_)));
        }
    }
}

#[test]
fn a_ring_that_ends_closes_its_sockets() {
    let Some(mut poller) = ring() else { return };
    let (_socket, mut far) = connected(&mut poller, 7);
    poller.end();
    assert_eq!(far.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn a_ring_sends_all_in_order_although_the_socket_takes_less() {
    let Some(mut poller) = ring() else { return };
    let (socket, mut far) = connected(&mut poller, 7);
    let all = numbers(1 << 20);
    let parts: Vec<&[u8]> = all[..1 << 21].chunks(5000).chain(all[1 << 21..].chunks(1 << 20)).collect();
    for part in parts {
        assert_eq!(poller.send(&socket, part).unwrap(), part.len());
        if poller.has_full_batch() {
            poller.submit();
        }
    }
    let count = all.len();
    let reader = thread::spawn(move || {
        let mut read = vec![0; count];
        far.read_exact(&mut read).map(|()| (read, far))
    });
    while !reader.is_finished() {
        poller.wait(Some(SHORT_NS)).unwrap();
        assert!(poller.next_ready().is_none());
    }
    assert!(reader.join().unwrap().unwrap().0 == all);
}

#[test]
fn a_ring_receives_more_than_its_buffers_hold() {
    let Some(mut poller) = ring() else { return };
    let all = numbers(1 << 22);
    let mut sockets: Vec<_> = (0..4).map(|token| connected(&mut poller, token)).collect();
    let writers: Vec<_> = sockets
        .iter()
        .map(|(_, far)| {
            let (mut far, all) = (far.try_clone().unwrap(), all.clone());
            thread::spawn(move || far.write_all(&all))
        })
        .collect();
    let mut received = vec![Vec::new(); 4];
    while received.iter().any(|bytes| bytes.len() < all.len()) {
        let token = ready(&mut poller).token as usize;
        if poller.receive(&mut sockets[token].0).unwrap().is_some() {
            received[token].extend_from_slice(poller.received());
        }
    }
    assert!(received.iter().all(|bytes| *bytes == all));
    writers.into_iter().for_each(|writer| writer.join().unwrap().unwrap());
}

#[test]
fn a_ring_says_when_what_waited_has_left() {
    let Some(mut poller) = ring() else { return };
    let (socket, _far) = connected(&mut poller, 7);
    assert_eq!(poller.take_submitted_ns(), None);
    let before = crate::clock::now_ns();
    poller.send(&socket, b"question").unwrap();
    assert_eq!(poller.take_submitted_ns(), None);
    poller.wait(Some(0)).unwrap();
    assert!(poller.take_submitted_ns().is_some_and(|at| at >= before));
    assert_eq!(poller.take_submitted_ns(), None);
}
