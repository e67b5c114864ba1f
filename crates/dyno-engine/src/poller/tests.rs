use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use super::{Poller, Ready, Socket, Uring, refusal};
use crate::clock::now_ns;
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
            assert!(is_refused(error), "{error}");
            println!("skipped: io_uring: {}", refusal(error));
            Vec::new()
        }
    };
    let rings = rings.into_iter().map(|ring| Poller::Uring(Box::new(ring)));
    std::iter::once(Poller::new(64 * 1024).unwrap()).chain(rings).collect()
}

/// Whether a system that is in order gives no ring, and for this reason.
fn is_refused(error: Errno) -> bool {
    match error {
        Errno::PERM | Errno::ACCESS | Errno::NOSYS | Errno::NOMEM => true,
        Errno::INVAL => {
            let release = rustix::system::uname().release().to_string_lossy().into_owned();
            let mut numbers =
                release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse::<u32>().ok());
            numbers.next().zip(numbers.next()).is_none_or(|version| version < (6, 15))
        }
        _ => false,
    }
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
    let until_ns = now_ns() + LONG_NS;
    loop {
        if let Some(ready) = poller.next_ready() {
            return ready;
        }
        let left_ns = until_ns.saturating_sub(now_ns());
        assert!(left_ns > 0, "nothing is ready");
        poller.wait(Some(left_ns)).unwrap();
    }
}

/// Has the poller notice what there is, without looking at any of it.
fn notice(poller: &mut Poller) {
    (0..100).for_each(|_| poller.wait(Some(0)).unwrap());
}

/// All that comes to many sockets, whose tokens are their places, until each has so many bytes.
fn receive_all(poller: &mut Poller, sockets: &mut [(Socket, UnixStream)], bytes: usize) -> Vec<Vec<u8>> {
    let mut received = vec![Vec::new(); sockets.len()];
    while received.iter().any(|bytes_of_one| bytes_of_one.len() < bytes) {
        let at = ready(poller).token as usize;
        if poller.receive(&mut sockets[at].0).unwrap().is_some() {
            received[at].extend_from_slice(poller.received());
        }
    }
    received
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
fn a_socket_that_is_set_aside_ends_behind_what_came() {
    for mut poller in begun() {
        let (mut aside, mut far) = connected(&mut poller, 7);
        poller.set_aside(&aside).unwrap();
        far.write_all(b"last").unwrap();
        drop(far);
        notice(&mut poller);
        assert!(poller.next_ready().is_none());
        poller.use_again(&aside).unwrap();
        assert_eq!(receive(&mut poller, &mut aside, 7, 4), b"last");
        assert_eq!(ready(&mut poller).token, 7);
        assert_eq!(poller.receive(&mut aside).unwrap(), Some(0));
    }
}

#[test]
fn what_was_kept_comes_before_what_came_later() {
    for mut poller in begun() {
        let (mut aside, mut far) = connected(&mut poller, 7);
        poller.set_aside(&aside).unwrap();
        far.write_all(b"first").unwrap();
        notice(&mut poller);
        assert!(poller.next_ready().is_none());
        far.write_all(b"second").unwrap();
        notice(&mut poller);
        poller.use_again(&aside).unwrap();
        assert_eq!(receive(&mut poller, &mut aside, 7, 11), b"firstsecond");
    }
}

#[test]
fn nothing_is_heard_of_a_closed_socket_by_the_one_that_has_its_place() {
    for mut poller in begun() {
        for _ in 0..3 {
            let (old, mut far) = connected(&mut poller, 7);
            far.write_all(b"unheard").unwrap();
            notice(&mut poller);
            poller.close(old);
            notice(&mut poller);
            let (mut new, mut far) = connected(&mut poller, 8);
            far.write_all(b"heard").unwrap();
            assert_eq!(receive(&mut poller, &mut new, 8, 5), b"heard");
            assert_eq!(poller.receive(&mut new).unwrap(), None);
            poller.close(new);
        }
    }
}

#[test]
fn more_sockets_receive_than_there_are_buffers() {
    for mut poller in begun() {
        let mut sockets: Vec<_> = (0..300).map(|token| connected(&mut poller, token)).collect();
        for word in ["question, ", "another, ", "the last"] {
            sockets.iter_mut().for_each(|(_, far)| far.write_all(word.as_bytes()).unwrap());
            notice(&mut poller);
        }
        let all = b"question, another, the last";
        assert!(receive_all(&mut poller, &mut sockets, all.len()).iter().all(|bytes| bytes == all));
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
    far.write_all(b"unheard").unwrap();
    poller.wait(Some(LONG_NS)).unwrap();
    drop(poller);
    // What is unheard makes it a reset.
    assert!(matches!(far.read(&mut [0; 1]), Ok(0) | Err(_)));
    let Some(mut poller) = ring() else { return };
    let (_socket, mut far) = connected(&mut poller, 7);
    drop(poller);
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
    let received = receive_all(&mut poller, &mut sockets, all.len());
    assert!(received.iter().all(|bytes| *bytes == all));
    writers.into_iter().for_each(|writer| writer.join().unwrap().unwrap());
}

#[test]
fn a_ring_says_when_what_waited_has_left() {
    let Some(mut poller) = ring() else { return };
    let (socket, _far) = connected(&mut poller, 7);
    assert_eq!(poller.take_submitted_ns(), None);
    let before = now_ns();
    poller.send(&socket, b"question").unwrap();
    assert_eq!(poller.take_submitted_ns(), None);
    poller.wait(Some(0)).unwrap();
    assert!(poller.take_submitted_ns().is_some_and(|at| at >= before));
    assert_eq!(poller.take_submitted_ns(), None);
}

#[test]
fn a_ring_gives_what_comes_meanwhile_behind_the_next_wait() {
    let Some(mut poller) = ring() else { return };
    let mut sockets: Vec<_> = (0..2).map(|token| connected(&mut poller, token)).collect();
    sockets[0].1.write_all(b"answer").unwrap();
    assert_eq!(ready(&mut poller).token, 0);
    sockets[1].1.write_all(b"answer").unwrap();
    for _ in 0..10 {
        poller.send(&sockets[0].0, b"question").unwrap();
        poller.submit();
    }
    assert!(poller.next_ready().is_none());
    assert_eq!(ready(&mut poller).token, 1);
}

#[test]
fn a_ring_sends_what_is_large_at_once_and_says_when() {
    let Some(mut poller) = ring() else { return };
    let (small, mut small_far) = connected(&mut poller, 7);
    let (large, mut large_far) = connected(&mut poller, 8);
    let bytes = numbers(5000);
    poller.send(&small, b"question").unwrap();
    poller.send(&large, &bytes).unwrap();
    assert_eq!(poller.take_submitted_ns(), None);
    assert!(poller.has_full_batch());
    let before = now_ns();
    poller.submit();
    assert!(poller.take_submitted_ns().is_some_and(|at| at >= before));
    assert!(!poller.has_full_batch());
    let mut question = [0; 8];
    small_far.read_exact(&mut question).unwrap();
    let mut read = vec![0; bytes.len()];
    large_far.read_exact(&mut read).unwrap();
    assert!(&question == b"question" && read == bytes);
}

#[test]
fn what_is_large_and_what_is_small_leave_one_socket_in_order() {
    let Some(mut poller) = ring() else { return };
    let (socket, mut far) = connected(&mut poller, 7);
    let all = numbers(12_000);
    let before = now_ns();
    poller.send(&socket, &all[..8]).unwrap();
    // The first leaves, and has its own time.
    poller.send(&socket, &all[8..24_008]).unwrap();
    let first = poller.take_submitted_ns();
    assert!(first.is_some_and(|at| at >= before));
    poller.send(&socket, &all[24_008..24_016]).unwrap();
    poller.submit();
    assert!(poller.take_submitted_ns() >= first);
    poller.send(&socket, &all[24_016..]).unwrap();
    // It leaves before the socket is closed.
    poller.close(socket);
    poller.wait(Some(0)).unwrap();
    let mut read = vec![0; all.len()];
    far.read_exact(&mut read).unwrap();
    assert!(read == all);
}
