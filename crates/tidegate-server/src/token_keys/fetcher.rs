//! The thread that fetches keys.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use tidegate_policy::KeySet;
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

use super::fetch::{Client, FetchError};
use super::schedule::Schedule;
use super::{OriginKeys, TokenKeys};
use crate::clock::Clock;
use crate::live::Stage;

/// How often the thread looks whether something is due.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Fetches the keys of what is live, on a thread of its own. Ends when it is dropped.
#[derive(Debug)]
pub struct Fetcher {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    looked: mpsc::Receiver<()>,
}

impl Fetcher {
    /// Starts to fetch what is on `stage`, now and after every reload.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(stage: Stage, clock: Clock) -> io::Result<Self> {
        Self::looking_every(LOOK_EVERY, stage, clock)
    }

    fn looking_every(period: Duration, stage: Stage, clock: Clock) -> io::Result<Self> {
        let (stop, stopped) = oneshot::channel();
        // Of several looks that nobody waited for, one is told.
        let (told, looked) = mpsc::sync_channel(1);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let work = Work {
            stage,
            clock,
            client: OnceCell::new(),
            addresses: HashMap::new(),
        };
        let thread = std::thread::Builder::new()
            .name("token-keys".to_owned())
            .spawn(move || runtime.block_on(work.run(period, stopped, told)))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
            looked,
        })
    }

    /// Waits until every address was asked once, at most for `patience`.
    pub fn wait_for_first(&self, patience: Duration) {
        // Overdue or not, the keys say themselves whether they are there.
        let _ = self.looked.recv_timeout(patience);
    }
}

impl Drop for Fetcher {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It says nothing when it ends, and there is nobody to tell if it panicked.
            let _ = thread.join();
        }
    }
}

struct Work {
    stage: Stage,
    clock: Clock,
    /// Made when it is needed first: reading the system's certificates takes a while.
    client: OnceCell<Client>,
    addresses: HashMap<Uri, Address>,
}

/// What is known about an address, over all reloads.
#[derive(Default)]
struct Address {
    schedule: Schedule,
    text: Bytes,
}

impl Work {
    async fn run(mut self, period: Duration, mut stopped: oneshot::Receiver<()>, told: mpsc::SyncSender<()>) {
        let mut looks = interval(period);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                // The sender says stop by going away.
                _ = &mut stopped => return,
                () = async { looks.tick().await; self.look().await } => {
                    // Full if an earlier one was not waited for.
                    let _ = told.try_send(());
                }
            }
        }
    }

    /// Fetches everything that is due.
    async fn look(&mut self) {
        let live = self.stage.current();
        let keys = &live.token_keys;
        self.addresses
            .retain(|url, _| keys.origins.iter().any(|origin| origin.is_at(url)));
        for (index, origin) in keys.origins.iter().enumerate() {
            if let OriginKeys::At { url, refresh } = &origin.keys {
                self.look_at(keys, index, url, *refresh).await;
            }
        }
    }

    async fn look_at(&mut self, keys: &TokenKeys, index: usize, url: &Uri, refresh: Duration) {
        let state = &keys.states[index];
        let address = self.addresses.entry(url.clone()).or_default();
        let is_there = keys.current.load().sets[index].is_some();
        let wanted = state.wanted.load(Ordering::Relaxed) || !is_there;
        if !address.schedule.is_due(self.clock.now(), wanted) {
            return;
        }
        state.wanted.store(false, Ordering::Relaxed);
        let fetched = self.client.get_or_init(Client::new).fetch(url).await;
        let now = self.clock.now();
        let (issuer, url) = (&*keys.origins[index].issuer, url.to_string());
        let outcome = fetched.and_then(|fetched| {
            let is_new = !is_there || fetched.text != address.text;
            let set = is_new.then(|| KeySet::parse(&fetched.text)).transpose();
            Ok((set.map_err(FetchError::Bad)?, fetched))
        });
        let was_failing = state.failing.swap(outcome.is_err(), Ordering::Relaxed);
        match outcome {
            Ok((set, fetched)) => {
                address.schedule.answered(now, refresh, fetched.max_age);
                address.text = fetched.text;
                if let Some(set) = set {
                    tracing::info!(issuer, url, keys = set.len(), "keys of tokens fetched");
                    keys.replace(index, Arc::new(set));
                } else if was_failing {
                    tracing::info!(issuer, url, "keys of tokens can be fetched again");
                }
            }
            Err(error) => {
                address.schedule.failed(now, refresh);
                let in_use = if is_there {
                    "those from before stay in use"
                } else {
                    "there are none"
                };
                tracing::warn!(issuer, url, %error, in_use, "keys of tokens cannot be fetched");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::num::NonZeroUsize;
    use std::sync::Mutex;

    use tidegate_core::{KeyHasher, Timestamp};
    use tidegate_policy::KeySource;

    use super::*;
    use crate::clock::ManualClock;
    use crate::live::Live;
    use crate::load::PolicySource;
    use crate::metrics::Metrics;
    use crate::token_keys::KeyStatus;

    /// How long a test waits for what must come.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// A public key of Ed25519, called `kid`. It verifies nothing here.
    fn key(kid: &str) -> String {
        format!(
            r#"{{"kty":"OKP","crv":"Ed25519","kid":"{kid}","x":"{}"}}"#,
            "A".repeat(43)
        )
    }

    fn response(status: &str, fields: &str, body: &str) -> String {
        format!(
            "HTTP/1.1 {status}\r\n{fields}content-length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    fn key_set(kids: &[&str]) -> String {
        let keys: Vec<String> = kids.iter().map(|kid| key(kid)).collect();
        response("200 OK", "", &format!(r#"{{"keys":[{}]}}"#, keys.join(",")))
    }

    /// An address of keys that answers as it is told, a fetcher of them, and a clock that stands still.
    struct Bed {
        answer: Arc<Mutex<String>>,
        asked: mpsc::Receiver<String>,
        stage: Stage,
        hand: ManualClock,
        fetcher: Fetcher,
    }

    fn live(url: &str) -> Live {
        let text = format!(
            "identity: {{ jwt: {{ issuer: i, audience: a, algorithms: [EdDSA], jwks: '{url}' }} }}\npolicies: [{{ name: p, key: [identity], limit: {{ quota: 1, window: 1s }} }}]\n"
        );
        let source = PolicySource::read_from("t.yaml", text.as_bytes()).unwrap();
        source.load(&KeyHasher::new([7; 16])).unwrap().into()
    }

    impl Bed {
        fn new(answer: String) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
            let answer = Arc::new(Mutex::new(answer));
            let (heard, asked) = mpsc::channel();
            let answers = answer.clone();
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    let mut request = [0; 1024];
                    let length = stream.read(&mut request).unwrap();
                    let text = answers.lock().unwrap().clone();
                    stream.write_all(text.as_bytes()).unwrap();
                    let request = String::from_utf8_lossy(&request[..length]).into_owned();
                    if heard.send(request).is_err() {
                        return;
                    }
                }
            });
            let hand = ManualClock::starting_at(Timestamp::from_nanos(1_000_000_000_000));
            let stage = Stage::new(live(&url), Metrics::new(NonZeroUsize::MIN));
            let clock = Clock::manual(hand.clone());
            let fetcher = Fetcher::looking_every(Duration::from_millis(5), stage.clone(), clock).unwrap();
            let bed = Self {
                answer,
                asked,
                stage,
                hand,
                fetcher,
            };
            bed.look();
            bed
        }

        /// Waits for a look that begins from now on to end.
        fn look(&self) {
            for _ in 0..3 {
                self.fetcher.wait_for_first(PATIENCE);
            }
        }

        fn answer(&self, answer: String) {
            *self.answer.lock().unwrap() = answer;
        }

        fn wait(&self, seconds: u64) {
            self.hand.advance(Duration::from_secs(seconds));
            self.look();
        }

        fn status(&self) -> KeyStatus {
            self.stage.current().token_keys.status().remove(0)
        }

        /// How often the address was asked since the last time.
        fn times_asked(&self) -> usize {
            self.asked.try_iter().count()
        }
    }

    #[test]
    fn keys_are_fetched_at_the_start_and_again_after_the_refresh_interval() {
        let bed = Bed::new(key_set(&["old"]));
        assert_eq!(bed.status().keys, Some(1));
        let request = bed.asked.recv_timeout(PATIENCE).unwrap();
        assert!(
            request.starts_with("GET /jwks.json HTTP/1.1\r\nhost: 127.0.0.1:"),
            "{request}"
        );
        bed.answer(key_set(&["old", "new"]));
        bed.wait(299);
        assert_eq!(bed.times_asked(), 0);
        bed.wait(1);
        assert_eq!((bed.times_asked(), bed.status().keys), (1, Some(2)));
    }

    #[test]
    fn an_unknown_key_brings_the_new_set_soon_but_not_more_often_than_stated() {
        let bed = Bed::new(key_set(&["old"]));
        bed.answer(key_set(&["old", "new"]));
        bed.stage.current().token_keys.lacks_key(0);
        bed.wait(9);
        assert_eq!(bed.status().keys, Some(1));
        bed.wait(1);
        assert_eq!(bed.status().keys, Some(2));
        bed.times_asked();
        bed.stage.current().token_keys.lacks_key(0);
        bed.wait(9);
        assert_eq!(bed.times_asked(), 0);
    }

    #[test]
    fn the_same_keys_again_are_no_change() {
        let bed = Bed::new(key_set(&["old"]));
        let before = bed.stage.current().token_keys.key_sets().generation;
        bed.times_asked();
        bed.wait(300);
        assert_eq!(bed.times_asked(), 1);
        assert_eq!(bed.stage.current().token_keys.key_sets().generation, before);
    }

    #[test]
    fn while_the_address_fails_the_old_keys_stay_and_it_is_tried_again() {
        let bed = Bed::new(key_set(&["old"]));
        for bad in [
            response("500 Internal Server Error", "", "{}"),
            response("302 Found", "location: http://127.0.0.1:1/\r\n", ""),
            response("200 OK", "", "<html>"),
            response("200 OK", "", r#"{"keys":[]}"#),
            "nonsense".to_owned(),
            response("200 OK", "", &"x".repeat(300 * 1024)),
        ] {
            bed.answer(bad);
            bed.wait(300);
            let status = bed.status();
            assert_eq!((status.keys, status.failing), (Some(1), true));
            bed.answer(key_set(&["old"]));
            bed.wait(5);
            assert!(!bed.status().failing);
        }
    }

    #[test]
    fn an_address_that_fails_from_the_start_has_no_keys_until_it_answers() {
        let bed = Bed::new(response("503 Service Unavailable", "", ""));
        assert_eq!((bed.status().keys, bed.status().failing), (None, true));
        bed.answer(key_set(&["new"]));
        bed.wait(5);
        assert_eq!((bed.status().keys, bed.status().failing), (Some(1), false));
    }
}
