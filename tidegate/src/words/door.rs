//! Where the gateway listens, whom it knows and whom it lets in, in words.

use std::fmt::{self, Display, Formatter};

use tidegate_policy::{
    ApiKeySettings, Callers, Config, Demand, Door, KeyPlace, Listener, ListenerTls, ProofOrder, TokenPlace,
    Trust,
};

/// Where the gateway listens, whom it believes, knows and lets in: a line for each.
pub(crate) struct DoorInWords<'a>(pub(crate) &'a Config);

impl Display for DoorInWords<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let config = self.0;
        for listener in &config.gateway.listen {
            match listener.door {
                Door::Gateway => f.write_str("listens on ")?,
                door => write!(f, "answers {} on ", door.name())?,
            }
            write!(f, "{}", ListenerInWords(listener))?;
            if let Callers::Among(networks) = &listener.callers {
                write!(f, ", to {} alone", listed(networks, " and "))?;
            }
            let proxied = listener.proxy_protocol.is_some();
            f.write_str(if proxied {
                ", behind proxies that speak the PROXY protocol\n"
            } else {
                "\n"
            })?;
        }
        let field = config.gateway.forwarded_field.name();
        match &config.gateway.trust {
            Trust::Nobody => {}
            Trust::Hops(count) => writeln!(f, "believes {field} of {count} proxies in front")?,
            Trust::Proxies(networks) => writeln!(f, "believes {field} of {}", listed(networks, " and "))?,
        }
        for line in proofs(config) {
            writeln!(f, "knows clients by {line}")?;
        }
        if let Some(store) = &config.store.shared {
            writeln!(f, "counts in {store}, waits {:?} for it at most", store.timeout)?;
        }
        config
            .access
            .in_words()
            .iter()
            .try_for_each(|line| writeln!(f, "{line}"))
    }
}

struct ListenerInWords<'a>(&'a Listener);

impl Display for ListenerInWords<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Listener {
            address, tls, door, ..
        } = self.0;
        let scheme = door.scheme(tls.is_some());
        let Some(tls) = tls else {
            return write!(f, "{scheme}://{address}");
        };
        let ListenerTls {
            certificates,
            client_auth,
            min_version,
            ..
        } = tls;
        let certificates: Vec<&str> = certificates
            .iter()
            .map(|files| &*files.certificate.path)
            .collect();
        write!(
            f,
            "{scheme}://{address}, TLS {} or newer, with {}",
            min_version.as_str(),
            certificates.join(" and ")
        )?;
        match client_auth {
            None => Ok(()),
            Some(auth) => {
                let demand = match auth.demand {
                    Demand::Required => "must",
                    Demand::Optional => "may",
                };
                write!(
                    f,
                    "; clients {demand} show a certificate of {}",
                    auth.authorities.path
                )
            }
        }
    }
}

/// The proofs of identity, in the order in which they are asked for.
fn proofs(config: &Config) -> Vec<String> {
    let identity = &config.identity;
    let tokens = identity.jwt.as_ref().map(|jwt| {
        let issuers = jwt.issuers.iter().map(|issuer| &*issuer.issuer);
        let places = jwt.places.iter().map(|place| match place {
            TokenPlace::Header(name) => format!("header {name}"),
            TokenPlace::Cookie(name) => format!("cookie {name}"),
        });
        format!(
            "tokens of {}, in {}",
            issuers.collect::<Vec<_>>().join(" and "),
            places.collect::<Vec<_>>().join(" or ")
        )
    });
    let keys = identity.api_key.as_ref().map(|api_key| {
        let places = api_key.places.iter().map(|place| match place {
            KeyPlace::Header(name) => format!("header {name}"),
            KeyPlace::Query(name) => format!("query {name}"),
            KeyPlace::Cookie(name) => format!("cookie {name}"),
        });
        format!(
            "API keys of {}, in {}",
            sources(api_key),
            places.collect::<Vec<_>>().join(" or ")
        )
    });
    let ordered = match identity.order {
        ProofOrder::JwtFirst => [tokens, keys],
        ProofOrder::ApiKeyFirst => [keys, tokens],
    };
    ordered.into_iter().flatten().collect()
}

fn listed(items: &[impl Display], between: &str) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(between)
}

/// Where keys are known: `keys.yaml and the store`.
fn sources(api_key: &ApiKeySettings) -> String {
    let store = api_key.stored.map(|_| "the store");
    let sources = [api_key.keys.as_deref(), store];
    let sources: Vec<&str> = sources.into_iter().flatten().collect();
    sources.join(" and ")
}
