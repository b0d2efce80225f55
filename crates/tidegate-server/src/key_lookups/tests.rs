use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tidegate_store::StoreError;
use tidegate_store::redis::api_keys::{BadEntry, KeyEntry};
use tokio::sync::Semaphore;

use super::*;
use crate::clock::ManualClock;

const SETTINGS: StoredKeySettings = StoredKeySettings {
    cache: Duration::from_secs(10),
    stale: Duration::from_secs(300),
};

/// A store that answers what it is told to, each question when it is let.
#[derive(Clone, Debug)]
struct Scripted {
    answer: Arc<Mutex<Result<Option<FoundKey>, KeyError>>>,
    let_go: Arc<Semaphore>,
    questions: Arc<AtomicUsize>,
}

impl KeyStore for Scripted {
    fn find(&self, _digest: KeyDigest) -> BoxFuture<'_, Result<Option<FoundKey>, KeyError>> {
        self.questions.fetch_add(1, Ordering::Relaxed);
        async move {
            self.let_go.acquire().await.unwrap().forget();
            self.answer.lock().unwrap().clone()
        }
        .boxed()
    }
}

struct Bed {
    store: Scripted,
    lookups: KeyLookups,
    hand: ManualClock,
    clock: Clock,
}

impl Bed {
    /// A store that lets that many questions go at once.
    fn letting_go(permits: usize) -> Self {
        let store = Scripted {
            answer: Arc::new(Mutex::new(Ok(Some(acme())))),
            let_go: Arc::new(Semaphore::new(permits)),
            questions: Arc::default(),
        };
        let hand = ManualClock::starting_at(Timestamp::from_nanos(1_000_000_000_000));
        Self {
            lookups: KeyLookups::new(store.clone()),
            store,
            clock: Clock::manual(hand.clone()),
            hand,
        }
    }

    fn answers(&self, answer: Result<Option<FoundKey>, KeyError>) {
        *self.store.answer.lock().unwrap() = answer;
    }

    fn questions(&self) -> usize {
        self.store.questions.load(Ordering::Relaxed)
    }

    async fn ask(&self, number: usize) -> Option<Stored> {
        self.lookups
            .ask(digest(number), SETTINGS, &self.clock)
            .await
            .stored
    }

    /// What is known without a question.
    fn lately(&self, number: usize) -> Option<Stored> {
        let lately = Lately::of(Some(&self.lookups), Some(SETTINGS));
        lately.find(&digest(number), self.clock.now())
    }
}

fn digest(number: usize) -> KeyDigest {
    KeyDigest::new(format!("tg_abcdefghijklmnop{number:020}").as_bytes()).unwrap()
}

fn acme() -> FoundKey {
    FoundKey {
        entry: KeyEntry {
            subject: "acme".to_owned(),
            tier: Some("pro".to_owned()),
            created: 1,
            note: None,
            revoked: None,
        },
        lent: None,
    }
}

fn is_key(stored: &Option<Stored>) -> bool {
    matches!(stored, Some(Stored::Key(key)) if &*key.subject == "acme")
}

#[tokio::test]
async fn all_who_wait_for_one_key_share_one_question() {
    let bed = Bed::letting_go(0);
    let waiting: Vec<_> = (0..100).map(|_| bed.ask(1)).collect();
    let all = futures_util::future::join_all(waiting);
    let free = async {
        tokio::task::yield_now().await;
        bed.store.let_go.add_permits(1);
    };
    let (answers, ()) = tokio::join!(all, free);
    assert!(answers.iter().all(is_key));
    assert_eq!(bed.questions(), 1);
    let figures = bed.lookups.figures();
    assert_eq!((figures.found, figures.shared), (1, 99));
    assert!(is_key(&bed.lately(1)), "no question is needed any more");
}

#[tokio::test]
async fn who_leaves_takes_nobody_elses_answer_along() {
    let bed = Bed::letting_go(0);
    let mut first = Box::pin(bed.ask(1));
    assert!(first.as_mut().now_or_never().is_none());
    let mut second = Box::pin(bed.ask(1));
    assert!(second.as_mut().now_or_never().is_none());
    drop(first);
    bed.store.let_go.add_permits(1);
    assert!(is_key(&second.await));

    let mut alone = Box::pin(bed.ask(2));
    assert!(alone.as_mut().now_or_never().is_none());
    drop(alone);
    assert_eq!(bed.lookups.under_way.lock().by_key.len(), 0, "its place is free");
}

#[tokio::test]
async fn what_was_said_counts_from_the_question_on_and_not_from_the_answer() {
    let bed = Bed::letting_go(0);
    let mut asking = Box::pin(bed.ask(1));
    assert!(asking.as_mut().now_or_never().is_none());
    bed.hand.advance(Duration::from_secs(4));
    bed.store.let_go.add_permits(1);
    assert!(is_key(&asking.await));
    bed.hand.advance(Duration::from_millis(5_999));
    assert!(is_key(&bed.lately(1)));
    bed.hand.advance(Duration::from_millis(1));
    assert_eq!(bed.lately(1), None);
}

#[tokio::test]
async fn without_an_answer_a_known_key_is_believed_for_longer_and_nothing_else_is() {
    let bed = Bed::letting_go(100);
    assert!(is_key(&bed.ask(1).await));
    bed.answers(Ok(None));
    assert_eq!(bed.ask(2).await, Some(Stored::Absent));

    bed.answers(Err(KeyError::Store(StoreError::Timeout)));
    bed.hand.advance(Duration::from_millis(299_999));
    assert!(is_key(&bed.ask(1).await));
    assert_eq!(bed.ask(2).await, None);
    bed.hand.advance(Duration::from_millis(1));
    assert_eq!(bed.ask(1).await, None);
    let figures = bed.lookups.figures();
    assert_eq!((figures.failed, figures.stale, figures.refused), (3, 1, 2));

    bed.answers(Ok(None));
    assert_eq!(bed.ask(1).await, Some(Stored::Absent));
    bed.answers(Err(KeyError::Store(StoreError::Unavailable)));
    assert_eq!(bed.ask(1).await, None, "what was taken away stays away");
}

#[tokio::test]
async fn a_broken_entry_is_as_if_the_store_did_not_answer() {
    let bed = Bed::letting_go(100);
    bed.answers(Err(KeyError::Broken(BadEntry::Unreadable)));
    assert_eq!(bed.ask(1).await, None);
    assert_eq!(bed.lately(1), None);
    bed.answers(Ok(Some(acme())));
    assert!(is_key(&bed.ask(1).await));
    assert_eq!(bed.lookups.figures().broken, 1);
}

#[tokio::test]
async fn no_more_questions_are_under_way_than_stated() {
    let bed = Bed::letting_go(0);
    let mut asking: Vec<_> = (0..MOST_LOOKUPS)
        .map(|number| Box::pin(bed.ask(number)))
        .collect();
    for one in &mut asking {
        assert!(one.as_mut().now_or_never().is_none());
    }
    assert_eq!(bed.ask(MOST_LOOKUPS).await, None);
    assert_eq!(
        (bed.questions(), bed.lookups.figures().crowded),
        (MOST_LOOKUPS, 1)
    );
    bed.store.let_go.add_permits(1);
    assert!(is_key(&asking.remove(0).await));
    // The others are before it.
    bed.store.let_go.add_permits(MOST_LOOKUPS);
    assert!(is_key(&bed.ask(MOST_LOOKUPS).await));
}
