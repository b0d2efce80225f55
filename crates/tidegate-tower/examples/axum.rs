//! A service of axum with two limits: `cargo run -p tidegate-tower --example axum`, then
//! `curl -i http://127.0.0.1:3000/hello`.

use std::error::Error;
use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use axum::routing::{get, post};
use axum::{Extension, Router};
use tidegate_tower::{RateLimit, Verdict};
use tokio::net::TcpListener;

const POLICIES: &str = "
policies:
  - name: api
    key: [client.ip]
    limit: { quota: 5, window: 1m }
  - name: login
    match: { method: POST, path: /login }
    key: [client.ip]
    limit: { quota: 2, window: 1m }
";

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    serve(listener).await
}

/// Serves on `listener`.
pub(crate) async fn serve(listener: TcpListener) -> Result<(), Failure> {
    let limits = RateLimit::from_yaml(POLICIES)?
        .peer(|request| Some(request.extensions.get::<ConnectInfo<SocketAddr>>()?.ip()));
    let service = Router::new()
        .route("/hello", get(hello))
        .route("/login", post(async || "welcome"))
        .layer(limits);
    let service = service.into_make_service_with_connect_info::<SocketAddr>();
    Ok(axum::serve(listener, service).await?)
}

async fn hello(Extension(verdict): Extension<Verdict>) -> String {
    format!("hello, {} left", verdict.remaining.unwrap_or_default())
}
