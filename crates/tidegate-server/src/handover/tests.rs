use std::net::TcpStream;

use super::*;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn socket() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

#[test]
fn sockets_go_over_with_the_connections_that_wait_in_them() {
    let (left, right) = StdStream::pair().unwrap();
    let sockets = [socket(), socket()];
    let address = sockets[1].local_addr().unwrap();
    let waiting = TcpStream::connect(address).unwrap();
    wire::send(&left, &sockets).unwrap();
    drop(sockets);
    let taken = wire::receive(&right, 2).unwrap();
    assert_eq!(taken.len(), 2);
    assert_eq!(taken[1].local_addr().unwrap(), address);
    assert_eq!(taken[1].accept().unwrap().1, waiting.local_addr().unwrap());
}

#[test]
fn an_offer_that_breaks_off_is_none() {
    let (mut left, right) = StdStream::pair().unwrap();
    left.write_all(b"+").unwrap();
    assert!(wire::receive(&right, 2).is_err(), "a byte that carries no socket");
    drop(left);
    assert!(wire::receive(&right, 2).is_err());
}

#[test]
fn as_many_sockets_as_the_bound_are_taken_and_no_more() {
    for (bound, fits) in [(2, true), (1, false)] {
        let (left, right) = StdStream::pair().unwrap();
        wire::send(&left, &[socket(), socket()]).unwrap();
        assert_eq!(wire::receive(&right, bound).is_ok(), fits);
    }
}

#[test]
fn who_takes_an_offer_and_ends_before_it_serves_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sockets");
    runtime().block_on(async {
        let mut offer = Offer::draft(&path, vec![socket()]).unwrap();
        assert!(Takeover::at(&path).unwrap().is_none(), "not public yet");
        offer.publish().unwrap();
        let (first, second) = (path.clone(), path.clone());
        let taking = tokio::task::spawn_blocking(move || {
            drop(Takeover::at(&first).unwrap().unwrap());
            let (sockets, takeover) = Takeover::at(&second).unwrap().unwrap();
            takeover.serving();
            sockets.len()
        });
        offer.taken().await;
        assert_eq!(taking.await.unwrap(), 1);
    });
}

#[test]
fn an_offer_goes_with_its_process_unless_another_has_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sockets");
    let runtime = runtime();
    let _inside = runtime.enter();
    let mut offer = Offer::draft(&path, Vec::new()).unwrap();
    offer.publish().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    drop(offer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    let mut old = Offer::draft(&path, Vec::new()).unwrap();
    old.publish().unwrap();
    old.stands = Stands::Taken;
    let mut new = Offer::draft(&path.with_extension("next"), Vec::new()).unwrap();
    new.path.clone_from(&path);
    new.publish().unwrap();
    drop(old);
    assert!(StdStream::connect(&path).is_ok());
}

#[test]
fn what_a_process_that_was_killed_left_behind_is_no_offer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sockets");
    assert!(Takeover::at(&path).unwrap().is_none());
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(Takeover::at(&path).unwrap().is_none());
}
