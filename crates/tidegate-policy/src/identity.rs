//! Who asks.

mod api_key;
mod halves;
mod named;
#[cfg(test)]
mod tests;
mod token;

use std::sync::Arc;

use crate::{ProofOrder, Request, StoredKeySettings, Treatment};

pub use api_key::{
    ApiKeys, KeyBook, KeyDigest, KeyFault, KeyRefusal, Keyring, Lent, MAX_ABSENT_KEYS, MAX_KNOWN_KEYS,
    NoStoredKeys, Stored, StoredKey, StoredKeys, Told, WeakKey,
};
pub use named::NamedSubject;
pub(crate) use token::text_of;
pub use token::{
    BadKeySet, ClaimPath, Judging, KeySet, KeySets, KeySource, MAX_KEY_SET_BYTES, TokenCache, TokenFault,
    Tokens, WeakSecret,
};

/// The name of an account, a user, a customer: what an API key or a token stands for. Never the credential itself.
pub type Subject = Arc<str>;

/// The name of a plan, such as `pro`, that a policy's `tiers` look up.
pub type Tier = Arc<str>;

/// What a token says about its subject: a JSON object.
pub type Claims = serde_json::Map<String, serde_json::Value>;

/// Who asks, as far as it was proven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// Nobody said who they are.
    #[default]
    Anonymous,
    /// A known API key, or a token that holds.
    Known {
        /// Whom it stands for.
        subject: Subject,
        /// Their plan, if they have one.
        tier: Option<Tier>,
        /// Who issued the token; none for an API key. Subjects of different issuers are different, whatever they are called.
        issuer: Option<Arc<str>>,
        /// What the token says; none for an API key.
        claims: Option<Arc<Claims>>,
    },
}

impl Identity {
    /// Whom an API key stands for.
    pub fn of_api_key(subject: impl Into<Subject>, tier: Option<Tier>) -> Self {
        Self::Known {
            subject: subject.into(),
            tier,
            issuer: None,
            claims: None,
        }
    }

    /// What the token of the request says, if it has one that holds.
    pub fn claims(&self) -> Option<&Claims> {
        match self {
            Self::Known { claims, .. } => claims.as_deref(),
            Self::Anonymous => None,
        }
    }
}

/// Finds out who asks. Fixed at load.
#[derive(Clone, Debug, Default)]
pub struct Identifier {
    /// API keys, if there are any.
    pub api_keys: Option<ApiKeys>,
    /// Signed tokens, if any hold.
    pub tokens: Option<Tokens>,
    /// Which of the two is asked first.
    pub order: ProofOrder,
}

/// A request that is answered here, because nobody knows who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityRefusal<'a> {
    /// For its API key.
    ApiKey(KeyRefusal<'a>),
    /// For its token.
    Token(TokenFault),
}

impl IdentityRefusal<'_> {
    /// The key that the store can be asked for, if the refusal is for want of its answer.
    pub fn unanswered(&self) -> Option<KeyDigest> {
        match self {
            Self::ApiKey(KeyRefusal {
                fault: KeyFault::Unanswered(digest),
                ..
            }) => Some(*digest),
            _ => None,
        }
    }
}

/// What one kind of credential says about who sent a request.
enum Proof<F> {
    /// It is not there.
    Absent,
    /// It is there and proves nothing.
    Doubtful(F),
    /// It proves this.
    Holds(Identity),
}

impl Identifier {
    /// How long it is believed what a store says of API keys; none if no keys live in one.
    pub fn stored_keys(&self) -> Option<StoredKeySettings> {
        self.api_keys.as_ref()?.settings.stored
    }

    /// Who sent `request`.
    ///
    /// The first kind of credential that proves something decides. One that proves nothing refuses the request, or is as if it
    /// were not there, as its settings say. If nothing proves anything, and a kind has to be there, the request is refused.
    ///
    /// # Errors
    /// [`IdentityRefusal`]: the request is answered with 401, or with 503 if nobody can tell whether its token holds or its
    /// key is known. With [`KeyFault::Unanswered`] the store can be asked, and then this again.
    pub fn identify(
        &self,
        request: &Request<'_>,
        judging: &Judging<'_>,
    ) -> Result<Identity, IdentityRefusal<'_>> {
        let order = match self.order {
            ProofOrder::JwtFirst => [Kind::Token, Kind::ApiKey],
            ProofOrder::ApiKeyFirst => [Kind::ApiKey, Kind::Token],
        };
        let mut lacking = None;
        for kind in order {
            let step = match kind {
                Kind::Token => self.by_token(request, judging),
                Kind::ApiKey => self.by_key(request, judging),
            };
            match step {
                Step::Proven(identity) => return Ok(identity),
                Step::Refused(refusal) => return Err(refusal),
                Step::Lacking(refusal) => _ = lacking.get_or_insert(refusal),
                Step::Nothing => {}
            }
        }
        lacking.map_or(Ok(Identity::Anonymous), Err)
    }

    fn by_token(&self, request: &Request<'_>, judging: &Judging<'_>) -> Step<'_> {
        let Some(tokens) = &self.tokens else {
            return Step::Nothing;
        };
        let fault = match tokens.prove(request, judging) {
            Proof::Holds(identity) => return Step::Proven(identity),
            Proof::Doubtful(fault) => fault,
            Proof::Absent => TokenFault::Missing,
        };
        match tokens.treatment(fault) {
            Treatment::Anonymous => Step::Nothing,
            Treatment::Reject if fault == TokenFault::Missing => Step::Lacking(IdentityRefusal::Token(fault)),
            Treatment::Reject => Step::Refused(IdentityRefusal::Token(fault)),
        }
    }

    fn by_key(&self, request: &Request<'_>, judging: &Judging<'_>) -> Step<'_> {
        let Some(keys) = &self.api_keys else {
            return Step::Nothing;
        };
        let fault = match keys.prove(request, judging) {
            Proof::Holds(identity) => return Step::Proven(identity),
            Proof::Doubtful(fault) => fault,
            Proof::Absent => KeyFault::Missing,
        };
        let refusal = IdentityRefusal::ApiKey(keys.refusal(fault));
        match keys.treatment(fault) {
            Treatment::Anonymous => Step::Nothing,
            Treatment::Reject if fault == KeyFault::Missing => Step::Lacking(refusal),
            Treatment::Reject => Step::Refused(refusal),
        }
    }
}

/// A kind of credential.
#[derive(Clone, Copy)]
enum Kind {
    Token,
    ApiKey,
}

/// How asking for one kind of credential ended.
enum Step<'a> {
    Proven(Identity),
    Refused(IdentityRefusal<'a>),
    /// It has to be there, unless another kind is.
    Lacking(IdentityRefusal<'a>),
    Nothing,
}
