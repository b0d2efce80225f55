//! The commands of `docs/rust.md`.

use tidegate_e2e::Example;
use tidegate_tower::client::Client;
use tokio::net::TcpListener;

use crate::{axum_example, remote_example};

const PAGE: &str = include_str!("../../../../docs/rust.md");

#[tokio::test(flavor = "multi_thread")]
async fn the_page_s_commands_print_what_it_says() {
    let example = Example::copy("check", &[8082, 3000, 3002]);
    let _tidegate = example.tidegate();
    let listener = async |port| {
        let address = example.with_ports(&format!("127.0.0.1:{port}"));
        TcpListener::bind(address).await.unwrap()
    };
    tokio::spawn(axum_example::serve(listener(3000).await));
    let client = Client::new(&example.with_ports("http://127.0.0.1:8082")).unwrap();
    let client = client.with_timeout(tidegate_e2e::PATIENCE);
    tokio::spawn(remote_example::serve(listener(3002).await, client));
    example.play_all(PAGE, &["cargo run ", "tidegate serve "]);
}
