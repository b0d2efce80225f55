//! What was spent some time ago, given back: to each shard in a call of its own.
//!
//! A call whose answer is lost may have been carried out, so it is not made again, and its charges are not told as untouched: whoever gives
//! back elsewhere what is untouched gives nothing back twice. What is lost stays spent.

use std::sync::Arc;

use smallvec::SmallVec;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Inner;
use super::call::Call;
use super::fault::Fault;
use super::split::Part;
use crate::{NotRefunded, StoreError};

/// Gives back all `parts` at one time.
pub(super) async fn all(
    inner: &Arc<Inner>,
    parts: SmallVec<[Part; 1]>,
    deadline: Instant,
) -> Result<(), NotRefunded> {
    let mut failed = Vec::new();
    if let [part] = &*parts {
        let fault = one(inner, part, deadline).await.err();
        failed.extend(fault.map(|fault| (fault, part.places.clone())));
    } else {
        let mut calls = JoinSet::new();
        for part in parts {
            let inner = Arc::clone(inner);
            calls.spawn(async move { (one(&inner, &part, deadline).await, part.places) });
        }
        while let Some(ended) = calls.join_next().await {
            match ended {
                Ok((Ok(()), _)) => {}
                Ok((Err(fault), places)) => failed.push((fault, places)),
                Err(_) => failed.push((Fault::Lost("the process ends".to_owned()), SmallVec::new())),
            }
        }
    }
    let Some((first, _)) = failed.first() else {
        return Ok(());
    };
    let error = StoreError::from(first);
    let surely = failed.into_iter().filter(|(fault, _)| fault.left_all_as_it_was());
    let mut untouched: SmallVec<[usize; 4]> = surely.flat_map(|(_, places)| places).collect();
    untouched.sort_unstable();
    Err(NotRefunded { error, untouched })
}

async fn one(inner: &Inner, part: &Part, deadline: Instant) -> Result<(), Fault> {
    if !inner.servers.lets_in(part.shard) {
        return Err(Fault::Down);
    }
    let call = Call::refunding(&inner.prefix, part.shard, &part.asked);
    let program = inner.programs.refund(call.kinds);
    let given_back = inner.call(part.shard, program, &call, deadline).await;
    inner.was_given_back(&part.asked);
    given_back.map(drop)
}
