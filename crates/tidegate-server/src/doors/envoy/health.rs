//! Whether calls are answered here.

use tonic::Status;

use super::wire::Written;
use super::wire::health::{HealthCheckRequest, STATUS, ServingStatus};

/// The services whose health is known. Nothing at all means all of them.
const SERVICES: [&[u8]; 4] = [
    b"",
    b"envoy.service.ratelimit.v3.RateLimitService",
    b"envoy.service.auth.v3.Authorization",
    b"grpc.health.v1.Health",
];

/// Answers a call about a service. `is_leaving`: this process ends, and finishes only what it has begun.
pub(super) fn check(asked: &HealthCheckRequest, is_leaving: bool) -> Result<Written, Status> {
    if !SERVICES.contains(&&*asked.service) {
        return Err(Status::not_found("no such service is here"));
    }
    let status = if is_leaving {
        ServingStatus::NotServing
    } else {
        ServingStatus::Serving
    };
    let mut answer = Written::new();
    answer.number(STATUS, status as u64);
    Ok(answer)
}
