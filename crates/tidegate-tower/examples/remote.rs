//! A service of axum that asks a Tidegate service: `tidegate serve --config examples/check/tidegate.yaml`, then
//! `cargo run -p tidegate-tower --features remote --example remote`, then `curl -i http://127.0.0.1:3002/api/hello`.

use std::error::Error;
use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use axum::routing::get;
use axum::{Extension, Router};
use tidegate_tower::client::Client;
use tidegate_tower::{Builder, RateLimit, Remote, Verdict};
use tokio::net::TcpListener;

/// What the Tidegate service reads: they hold here while it is gone.
const POLICIES: &str = include_str!("../../../examples/check/tidegate.yaml");

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:3002").await?;
    let client = Client::new("http://127.0.0.1:8082")?;
    serve(listener, client).await
}

/// Serves on `listener`, and asks by `client`.
pub(crate) async fn serve(listener: TcpListener, client: Client) -> Result<(), Failure> {
    let alone = Builder::from_yaml(POLICIES)?.build_alone()?;
    let limits = RateLimit::new(Remote::new(client).falling_back_to(alone))
        .peer(|request| Some(request.extensions.get::<ConnectInfo<SocketAddr>>()?.ip()));
    let service = Router::new()
        .route("/api/hello", get(hello))
        .layer(limits)
        .into_make_service_with_connect_info::<SocketAddr>();
    Ok(axum::serve(listener, service).await?)
}

async fn hello(Extension(verdict): Extension<Verdict>) -> String {
    format!("hello, {} left", verdict.remaining.unwrap_or_default())
}
