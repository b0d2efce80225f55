//! A service of gRPC with a limit: `cargo run -p tidegate-tower --example tonic`. Calls beyond the limit get
//! `RESOURCE_EXHAUSTED`.

use std::error::Error;

use tidegate_tower::RateLimit;
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::{TcpConnectInfo, TcpIncoming};
use tonic_health::server::health_reporter;

const POLICIES: &str = "
policies:
  - name: health
    match: { path: /grpc.health.v1.Health/Check }
    key: [client.ip]
    limit: { quota: 5, window: 1m }
";

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:3001").await?;
    serve(listener).await
}

/// Serves on `listener`.
pub(crate) async fn serve(listener: TcpListener) -> Result<(), Failure> {
    let limits = RateLimit::from_yaml(POLICIES)?.peer(|request| {
        let connection = request.extensions.get::<TcpConnectInfo>()?;
        Some(connection.remote_addr()?.ip())
    });
    let (_reporter, health) = health_reporter();
    let server = Server::builder().layer(limits).add_service(health);
    Ok(server.serve_with_incoming(TcpIncoming::from(listener)).await?)
}
