//! Starts a server in a thread that ends, says its port and folder, and waits to be killed: a test looks what becomes of the server.

use std::thread;

use tidegate_test_servers::Server;

fn main() {
    let start = || Box::leak(Box::new(Server::redis()));
    let server = thread::spawn(start).join().unwrap();
    eprintln!("{} {}", server.port(), server.folder().display());
    loop {
        thread::park();
    }
}
