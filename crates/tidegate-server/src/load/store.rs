//! Passwords, secrets and certificates of a shared store, from the environment and from files beside the policy file.

use std::env;

use sha2::{Digest, Sha256};
use tidegate_policy::{Gateway, HostPort, SecretPlace, SharedStore, StoreLogin, StorePlace, StoreTls};
use tidegate_store::redis::{Address, Login, Password, Servers, Settings, Tls};

use super::token_keys::without_line_end;
use super::{Files, LoadError, PolicySource, in_words};

/// How a shared store is spoken to, and the secret under which counters are named in it.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) settings: Settings,
    pub(super) key_secret: Option<Vec<u8>>,
}

/// The shortest secret under which counters are named. A shorter one could be tried out.
const LEAST_SECRET_BYTES: usize = 16;

impl PolicySource {
    /// What `store` names, read.
    pub(super) fn read_store(&self, files: &mut Files, store: &SharedStore) -> Result<Access, LoadError> {
        let mut reader = Reader { source: self, files };
        reader.access(store).map_err(|why| LoadError::Store {
            store: store.to_string(),
            why,
        })
    }
}

impl PolicySource {
    /// The passwords that clients of doors for Redis say, as digests.
    pub(super) fn read_door_passwords(
        &self,
        files: &mut Files,
        gateway: &mut Gateway,
    ) -> Result<(), LoadError> {
        let mut reader = Reader { source: self, files };
        for listener in &mut gateway.listen {
            let address = listener.address;
            let Some(door) = &mut listener.redis else {
                continue;
            };
            let Some(place) = &door.password else {
                continue;
            };
            let password = match reader.secret(place) {
                Ok(password) if password.is_empty() => Err("it is empty".to_owned()),
                read => read,
            };
            let password = password.map_err(|why| LoadError::DoorPassword { address, why })?;
            door.password_digest = Some(Sha256::digest(password).into());
        }
        Ok(())
    }
}

struct Reader<'r> {
    source: &'r PolicySource,
    files: &'r mut Files,
}

impl Reader<'_> {
    fn access(&mut self, store: &SharedStore) -> Result<Access, String> {
        let settings = Settings {
            login: self.login(&store.login)?,
            database: store.database,
            tls: store.tls.as_ref().map(|tls| self.tls(tls)).transpose()?,
            timeout: store.timeout,
            connect_timeout: store.connect_timeout,
            prefix: store.prefix.clone(),
            ..Settings::new(self.servers(&store.place)?)
        };
        let key_secret = store.key_secret.as_ref();
        let key_secret = key_secret.map(|place| self.secret(place)).transpose()?;
        if key_secret
            .as_ref()
            .is_some_and(|secret| secret.len() < LEAST_SECRET_BYTES)
        {
            return Err(format!(
                "the secret of keys is shorter than {LEAST_SECRET_BYTES} bytes: make it at random"
            ));
        }
        Ok(Access { settings, key_secret })
    }

    fn servers(&mut self, place: &StorePlace) -> Result<Servers, String> {
        Ok(match place {
            StorePlace::Server(server) => Servers::Single(address(server)),
            StorePlace::Socket(path) => Servers::Unix(path.into()),
            StorePlace::Sentinel {
                sentinels,
                service,
                login,
            } => Servers::Sentinel {
                sentinels: sentinels.iter().map(address).collect(),
                service: service.clone(),
                login: self.login(login)?,
            },
            StorePlace::Cluster(nodes) => Servers::Cluster(nodes.iter().map(address).collect()),
        })
    }

    fn login(&mut self, login: &StoreLogin) -> Result<Login, String> {
        let password = login
            .password
            .as_ref()
            .map(|place| self.secret(place))
            .transpose()?;
        let password = password
            .map(|password| {
                String::from_utf8(password).map_err(|_| "the password is not UTF-8 text".to_owned())
            })
            .transpose()?;
        Ok(Login {
            username: login.username.clone(),
            password: password.map(Password::new),
        })
    }

    fn tls(&mut self, tls: &StoreTls) -> Result<Tls, String> {
        let ca = tls.ca.as_ref().map(|file| self.file(file)).transpose()?;
        let client = match &tls.client {
            Some(client) => Some((self.file(&client.certificate)?, self.file(&client.key)?)),
            None => None,
        };
        Ok(Tls {
            ca,
            client,
            server_name: tls.server_name.clone(),
        })
    }

    fn secret(&mut self, place: &SecretPlace) -> Result<Vec<u8>, String> {
        match place {
            SecretPlace::Env(name) => match env::var(name) {
                Ok(secret) => Ok(secret.into_bytes()),
                Err(_) => Err(format!("the environment variable {name} is not set")),
            },
            SecretPlace::File(file) => Ok(without_line_end(&self.file(file)?).to_vec()),
        }
    }

    fn file(&mut self, file: &str) -> Result<Vec<u8>, String> {
        let path = self.source.folder().join(file);
        let read = self.files.read(&path);
        read.map_err(|error| format!("cannot read {}: {}", path.display(), in_words(&error)))
    }
}

fn address(server: &HostPort) -> Address {
    Address::new(server.host.clone(), server.port)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tidegate_core::{HoldId, KeyHasher, Timestamp};

    use super::*;
    use crate::load::Loaded;

    fn load(store: &str, files: &[(&str, &str)]) -> Result<Loaded, LoadError> {
        let folder = tempfile::tempdir().unwrap();
        let policies = folder.path().join("tidegate.yaml");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let text = format!(
            "store: {store}\npolicies: [{{ name: p, key: [client.ip], limit: {{ quota: 1, window: 1s }} }}]\n"
        );
        fs::write(&policies, text).unwrap();
        PolicySource::file(&policies)
            .unwrap()
            .load(&KeyHasher::new([7; 16]))
    }

    fn settings(store: &str, files: &[(&str, &str)]) -> Settings {
        load(store, files).unwrap().store.unwrap()
    }

    #[test]
    fn what_a_policy_file_names_is_read_from_beside_it() {
        let read = settings(
            "{ redis: rediss://u@a.test:7/2, password_file: p, timeout: 3ms, prefix: x, tls: { ca: ca, certificate: c, key: k, server_name: b.test } }",
            &[
                ("p", "hunter2\n"),
                ("ca", "roots"),
                ("c", "mine"),
                ("k", "secret"),
            ],
        );
        assert_eq!(read.servers, Servers::Single(Address::new("a.test", 7)));
        assert_eq!(read.login.username.as_deref(), Some("u"));
        assert_eq!(read.login.password, Some(Password::new("hunter2")));
        assert_eq!((read.database, read.prefix.as_str()), (2, "x"));
        assert_eq!(read.timeout.as_millis(), 3);
        let tls = read.tls.unwrap();
        assert_eq!(tls.ca.as_deref(), Some(&b"roots"[..]));
        assert_eq!(tls.client, Some((b"mine".to_vec(), b"secret".to_vec())));
        assert_eq!(tls.server_name.as_deref(), Some("b.test"));
    }

    #[test]
    fn every_kind_of_place_is_known() {
        let servers = |store: &str| settings(store, &[("p", "s")]).servers;
        assert_eq!(servers("unix:///run/r.sock"), Servers::Unix("/run/r.sock".into()));
        let nodes = vec![Address::new("a.test", 6379), Address::new("::1", 7)];
        assert_eq!(
            servers("{ cluster: [redis://a.test, 'redis://[::1]:7'] }"),
            Servers::Cluster(nodes)
        );
        let sentinel = Servers::Sentinel {
            sentinels: vec![Address::new("a.test", 26379)],
            service: "m".to_owned(),
            login: Login {
                username: None,
                password: Some(Password::new("s")),
            },
        };
        assert_eq!(
            servers("{ sentinel: a.test, service: m, sentinel_password_file: p }"),
            sentinel
        );
    }

    #[test]
    fn what_cannot_be_read_is_told_and_no_secret_with_it() {
        let error = |store: &str, files: &[(&str, &str)]| load(store, files).unwrap_err().to_string();
        assert_eq!(
            error(
                "{ redis: redis://a.test, password_env: TIDEGATE_TEST_NO_SUCH_PASSWORD }",
                &[]
            ),
            "the store redis://a.test:6379/0: the environment variable TIDEGATE_TEST_NO_SUCH_PASSWORD is not set"
        );
        assert!(
            error("{ redis: redis://a.test, password_file: gone }", &[]).contains("there is no such file")
        );
        let short = error(
            "{ redis: redis://a.test, key_secret_file: k }",
            &[("k", "fifteen bytes.!\n")],
        );
        assert!(
            short.contains("shorter than 16 bytes") && !short.contains("fifteen"),
            "{short}"
        );
    }

    #[test]
    fn a_policy_file_takes_the_limits_that_the_store_can_count() {
        let load = |limit: &str, consistency: &str| {
            let text = format!(
                "store: redis://a\npolicies: [{{ name: p, key: [client.ip], limit: {{ {limit} }}, consistency: {consistency} }}]\n"
            );
            let source = PolicySource::read_from("t.yaml", text.as_bytes()).unwrap();
            source.load(&KeyHasher::new([7; 16]))
        };
        for (limit, is_counted) in [
            ("quota: 1000000, window: 1s", true),
            ("quota: 1000001, window: 1s", false),
            ("algorithm: fixed_window, quota: 1, window: 1us500ns", false),
            (
                "algorithm: sliding_window, quota: 2251799813685247, window: 1s",
                true,
            ),
            (
                "algorithm: sliding_window, quota: 2251799813685248, window: 1s",
                false,
            ),
            (
                "algorithm: fixed_window, quota: 1, window: 1125899906842624us",
                true,
            ),
            (
                "algorithm: fixed_window, quota: 1, window: 1125899906842625us",
                false,
            ),
            ("quota: 1, window: 1125899906842us, burst: 1000", true),
            ("quota: 1, window: 1125899906842us, burst: 1001", false),
            (
                "algorithm: leaky_bucket, quota: 1, window: 1s, max_delay: 1500ns",
                true,
            ),
            ("algorithm: fixed_window, quota: 5, window: month", true),
            ("algorithm: concurrency, slots: 10000", true),
        ] {
            let local = load(limit, "local").unwrap();
            let built = &local.config.policies.policies()[0].limits[0].limit;
            let numbers = tidegate_store::redis::Numbers::of(built, Timestamp::EPOCH);
            assert_eq!(numbers.is_ok(), is_counted, "{limit}: {numbers:?}");
            // A file may be stricter, never the store.
            assert!(load(limit, "strict").is_err() || is_counted, "{limit}");
            assert!(
                load(limit, "strict").is_ok() || !is_counted || limit.contains("1500ns"),
                "{limit}"
            );
        }
    }

    #[test]
    fn counters_are_named_under_the_secret_of_keys() {
        let key = |store: &str| {
            let loaded = load(store, &[("k", "sixteen bytes...\n"), ("l", "other sixteen by")]).unwrap();
            let (method, headers) = (http::Method::GET, http::HeaderMap::new());
            let request = tidegate_policy::Request {
                method: &method,
                version: http::Version::HTTP_11,
                host: "a.test",
                path: "/",
                query: None,
                headers: &headers,
                client: std::net::Ipv4Addr::LOCALHOST.into(),
                tls: None,
                body: &tidegate_policy::Body::UNREAD,
            };
            let anonymous = tidegate_policy::Identity::Anonymous;
            let policies = &loaded.config.policies;
            let plan = policies.plan(&request, &anonymous, HoldId(1), Timestamp::EPOCH);
            plan.charges[0].key
        };
        let keys = [
            "redis://a",
            "{ redis: redis://a, key_secret_file: k }",
            "{ redis: redis://a, key_secret_file: l }",
        ];
        let [open, one, other] = keys.map(key);
        assert!(open != one && one != other && open != other);
        assert_eq!(key("redis://b"), open, "whatever the store, and in every process");
    }
}
