//! Whether calls are answered here.

use std::rc::Rc;

use http::Response;
use tidegate_store::Store;
use tonic::Status;

use super::call;
use super::wire::Written;
use super::wire::health::{HealthCheckRequest, STATUS, ServingStatus};
use crate::gateway::{ResponseBody, Worker};

/// The services whose health is known. Nothing at all means all of them.
const SERVICES: [&[u8]; 4] = [
    b"",
    b"envoy.service.ratelimit.v3.RateLimitService",
    b"envoy.service.auth.v3.Authorization",
    b"grpc.health.v1.Health",
];

/// Answers a call about a service. `is_stopping`: this process ends, and finishes only what it has begun. One that left its place to the
/// next is still well: where it listened, somebody serves.
pub(super) fn check(asked: &HealthCheckRequest, is_stopping: bool) -> Result<Written, Status> {
    match status(asked) {
        ServingStatus::ServiceUnknown => Err(Status::not_found("no such service is here")),
        _ if is_stopping => Ok(told(ServingStatus::NotServing)),
        known => Ok(told(known)),
    }
}

/// Tells what there is to tell of a service until `worker` leaves.
pub(super) fn watch<S: Store>(asked: &HealthCheckRequest, worker: Rc<Worker<S>>) -> Response<ResponseBody> {
    let first = match status(asked) {
        ServingStatus::Serving if worker.stopping() => ServingStatus::NotServing,
        status => status,
    };
    call::replies(told(first), async move {
        worker.leaves().await;
        let is_news = worker.stopping() && first == ServingStatus::Serving;
        is_news.then(|| told(ServingStatus::NotServing))
    })
}

/// Of a service, while this process serves.
fn status(asked: &HealthCheckRequest) -> ServingStatus {
    if SERVICES.contains(&&*asked.service) {
        ServingStatus::Serving
    } else {
        ServingStatus::ServiceUnknown
    }
}

fn told(status: ServingStatus) -> Written {
    let mut answer = Written::new();
    answer.number(STATUS, status as u64);
    answer
}
