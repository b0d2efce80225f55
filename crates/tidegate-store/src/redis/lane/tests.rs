use core::time::Duration;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::{advance, timeout_at};

use super::*;

/// A server that takes `takes` for a call, and answers each request with its double.
struct Server {
    takes: Duration,
    calls: Mutex<Vec<Vec<u32>>>,
    unclaimed: Mutex<Vec<u32>>,
}

impl Server {
    fn new(takes: Duration) -> Arc<Self> {
        Arc::new(Self {
            takes,
            calls: Mutex::new(Vec::new()),
            unclaimed: Mutex::new(Vec::new()),
        })
    }

    fn calls(&self) -> Vec<Vec<u32>> {
        self.calls.lock().expect("nobody panicked").clone()
    }

    fn sizes(&self) -> Vec<usize> {
        self.calls().iter().map(Vec::len).collect()
    }
}

impl Destination<u32, u32> for Arc<Server> {
    async fn call(&self, requests: &[u32], deadline: Instant) -> Result<Vec<u32>, StoreError> {
        self.calls
            .lock()
            .expect("nobody panicked")
            .push(requests.to_vec());
        let answers = requests.iter().map(|request| request * 2).collect();
        let answered_at = Instant::now() + self.takes;
        // Nothing happens until either comes.
        let first = timeout_at(answered_at.min(deadline), std::future::pending::<()>()).await;
        assert!(first.is_err());
        if deadline < answered_at {
            return Err(StoreError::Timeout);
        }
        Ok(answers)
    }

    fn unclaimed(&self, request: &u32, answer: u32) {
        assert_eq!(answer, request * 2);
        self.unclaimed.lock().expect("nobody panicked").push(*request);
    }
}

const ROUND_TRIP: Duration = Duration::from_millis(1);
const TIMEOUT: Duration = Duration::from_millis(25);

/// A lane before that server. Its carriers end with the set.
fn lane(server: &Arc<Server>) -> (Arc<Lane<u32, u32>>, JoinSet<()>) {
    let lane = Arc::new(Lane::new());
    let mut carriers = JoinSet::new();
    for _ in 0..CARRIERS {
        let (lane, server) = (Arc::clone(&lane), Arc::clone(server));
        carriers.spawn(async move { lane.carry(&server).await });
    }
    (lane, carriers)
}

async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

fn bring(lane: &Lane<u32, u32>, request: u32) -> Receiver<u32> {
    lane.bring(request, 1, Instant::now() + TIMEOUT)
        .expect("there is room")
}

#[tokio::test(start_paused = true)]
async fn a_lone_request_is_sent_at_once_and_so_is_a_second_and_the_others_share_the_next_call() {
    let server = Server::new(ROUND_TRIP);
    let (lane, _carriers) = lane(&server);
    let mut receivers = Vec::new();
    for request in 0..5 {
        receivers.push(bring(&lane, request));
        settle().await;
    }
    assert_eq!(server.calls(), [vec![0], vec![1]]);
    let before = Instant::now();
    for (receiver, request) in receivers.into_iter().zip(0..) {
        assert_eq!(receiver.await, Ok(Ok(request * 2)));
    }
    assert_eq!(server.calls(), [vec![0], vec![1], vec![2, 3, 4]]);
    // The clock of a test goes in whole milliseconds.
    assert!(before.elapsed() <= 2 * ROUND_TRIP + Duration::from_millis(1));
}

#[tokio::test(start_paused = true)]
async fn a_call_takes_what_it_can_hold_and_a_carrier_that_rests_takes_what_is_left() {
    let server = Server::new(ROUND_TRIP);
    let (lane, _carriers) = lane(&server);
    settle().await;
    let _receivers: Vec<_> = (0..300).map(|request| bring(&lane, request)).collect();
    settle().await;
    assert_eq!(server.sizes(), [MAX_REQUESTS, MAX_REQUESTS]);
    advance(2 * ROUND_TRIP).await;
    settle().await;
    assert_eq!(server.sizes(), [MAX_REQUESTS, MAX_REQUESTS, 44]);
    let all: Vec<u32> = server.calls().concat();
    assert_eq!(all, (0..300).collect::<Vec<_>>(), "in their order");
}

#[tokio::test(start_paused = true)]
async fn many_at_one_time_are_shared_by_the_carriers_and_few_go_together() {
    assert_eq!(FEW_REQUESTS, 16);
    for (brought, sizes) in [(16, vec![16]), (17, vec![16, 1]), (100, vec![50, 50])] {
        let server = Server::new(ROUND_TRIP);
        let (lane, _carriers) = lane(&server);
        settle().await;
        let receivers: Vec<_> = (0..brought).map(|request| bring(&lane, request)).collect();
        settle().await;
        assert_eq!(server.sizes(), sizes);
        for receiver in receivers {
            assert!(receiver.await.expect("an answer").is_ok());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_takes_its_share_of_all_that_are_on_their_way() {
    let server = Server::new(ROUND_TRIP);
    let (lane, _carriers) = lane(&server);
    settle().await;
    let mut receivers: Vec<_> = (0..20).map(|request| bring(&lane, request)).collect();
    settle().await;
    // 16 and 4 are under way. When the first call is back, 84 are on their way.
    receivers.extend((20..100).map(|request| bring(&lane, request)));
    for receiver in receivers {
        assert!(receiver.await.expect("an answer").is_ok());
    }
    assert_eq!(server.sizes(), [16, 4, 42, 38]);
}

#[tokio::test(start_paused = true)]
async fn charges_are_counted_too_and_one_request_goes_however_many_it_has() {
    let server = Server::new(ROUND_TRIP);
    let (lane, _carriers) = lane(&server);
    let deadline = Instant::now() + TIMEOUT;
    let half = MAX_CHARGES / 2;
    let _receivers: Vec<_> = [half, half, 1, MAX_CHARGES + 1]
        .into_iter()
        .zip(0..)
        .map(|(charges, request)| lane.bring(request, charges, deadline).expect("there is room"))
        .collect();
    settle().await;
    assert_eq!(server.calls(), [vec![0, 1], vec![2]]);
    advance(2 * ROUND_TRIP).await;
    settle().await;
    assert_eq!(server.calls(), [vec![0, 1], vec![2], vec![3]]);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_and_what_is_too_late_is_not_sent() {
    let server = Server::new(4 * ROUND_TRIP);
    let (lane, _carriers) = lane(&server);
    let _under_way = [bring(&lane, 0)];
    settle().await;
    let _also = bring(&lane, 1);
    settle().await;
    drop(bring(&lane, 2));
    let soon = Instant::now() + 2 * ROUND_TRIP;
    let late = lane.bring(3, 1, soon).expect("there is room");
    let kept = bring(&lane, 4);
    assert_eq!(kept.await, Ok(Ok(8)));
    assert_eq!(server.calls(), [vec![0], vec![1], vec![4]]);
    assert!(late.await.is_err(), "nobody answers it");
}

#[tokio::test(start_paused = true)]
async fn a_full_lane_turns_away_at_once_and_takes_again_when_calls_end() {
    let server = Server::new(ROUND_TRIP);
    let (lane, _carriers) = lane(&server);
    let deadline = Instant::now() + TIMEOUT;
    let receivers: Vec<_> = (0..u32::try_from(MAX_WAITING).expect("a small number"))
        .map(|request| lane.bring(request, 1, deadline).expect("there is room"))
        .collect();
    assert!(matches!(lane.bring(0, 1, deadline), Err(Full)));
    settle().await;
    assert!(lane.bring(0, 1, deadline).is_ok());
    drop(receivers);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_costs_each_request_its_timeout_and_no_more() {
    let server = Server::new(Duration::from_secs(3600));
    let (lane, _carriers) = lane(&server);
    let begin = Instant::now();
    let first = bring(&lane, 0);
    settle().await;
    assert_eq!(first.await, Ok(Err(StoreError::Timeout)));
    assert!(begin.elapsed() <= TIMEOUT + Duration::from_millis(1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_waits_for_is_told() {
    let server = Server::new(ROUND_TRIP);
    let (lane, _carriers) = lane(&server);
    let (gone, waits) = (bring(&lane, 7), bring(&lane, 8));
    settle().await;
    drop(gone);
    assert_eq!(waits.await, Ok(Ok(16)));
    assert_eq!(*server.unclaimed.lock().expect("nobody panicked"), [7]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_lost_when_many_bring_from_many_threads() {
    let server = Server::new(Duration::ZERO);
    let (lane, _carriers) = lane(&server);
    let mut askers = JoinSet::new();
    for asker in 0..64 {
        let lane = Arc::clone(&lane);
        askers.spawn(async move {
            for step in 0..200 {
                let request = asker * 1000 + step;
                let deadline = Instant::now() + Duration::from_secs(60);
                let receiver = lane.bring(request, 1, deadline).expect("there is room");
                assert_eq!(receiver.await, Ok(Ok(request * 2)));
            }
        });
    }
    while let Some(asker) = askers.join_next().await {
        asker.expect("an asker ends");
    }
    assert_eq!(server.sizes().iter().sum::<usize>(), 64 * 200);
}
