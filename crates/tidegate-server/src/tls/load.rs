//! From the files that a policy file names to listeners that speak TLS.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use tidegate_core::Timestamp;
use tidegate_policy::{CertificateFiles, ClientAuth, FileReport, Listener, ListenerTls, NamedFile};

use super::certificate::{self, Age, Certificate, Fault};
use super::{Names, Parts, TlsListener};
use crate::load::{Files, in_words};

/// What TLS is loaded from.
pub struct Source<'a, 'r> {
    /// Where files are looked for.
    pub folder: &'a Path,
    /// When certificates should hold.
    pub now: Timestamp,
    /// Knows what was read.
    pub files: &'a mut Files,
    /// Told what is wrong.
    pub report: &'a mut FileReport<'r>,
}

impl Source<'_, '_> {
    /// The TLS of `listeners`, in their order. A listener whose files are wrong has none.
    pub fn load(mut self, listeners: &[Listener]) -> Vec<Option<Arc<TlsListener>>> {
        listeners
            .iter()
            .map(|listener| self.listener(listener.tls.as_ref()?).map(Arc::new))
            .collect()
    }

    fn listener(&mut self, tls: &ListenerTls) -> Option<TlsListener> {
        let mut certificates = Vec::new();
        let mut names = Names::default();
        for files in &tls.certificates {
            // All are looked at, even if one is wrong.
            if let Some(certificate) = self.certificate(files) {
                self.name(&certificate, certificates.len(), &mut names, files);
                certificates.push(certificate);
            }
        }
        let authorities = match &tls.client_auth {
            None => None,
            Some(auth) => Some((self.authorities(auth)?, auth.demand)),
        };
        let first = tls.certificates.first()?;
        if certificates.len() < tls.certificates.len() {
            return None;
        }
        let parts = Parts {
            certificates,
            authorities,
            min_version: tls.min_version,
            unknown_names: tls.unknown_names,
        };
        TlsListener::new(parts, names)
            .map_err(|error| {
                let message = format!("TLS cannot be spoken with it: {error}");
                self.report
                    .error(&first.certificate, message, "look at the files of this listener");
            })
            .ok()
    }

    fn certificate(&mut self, files: &CertificateFiles) -> Option<Certificate> {
        let chain = self.read(&files.certificate, "a certificate");
        let key = self.read(&files.key, "a private key");
        if key.is_some() {
            self.look_who_reads(&files.key);
        }
        match Certificate::new(&chain?, &key?) {
            Ok(certificate) => {
                self.look_at_age(&certificate, &files.certificate);
                Some(certificate)
            }
            Err(fault) => {
                self.say(files, &fault);
                None
            }
        }
    }

    fn name(&mut self, certificate: &Certificate, index: usize, names: &mut Names, files: &CertificateFiles) {
        if certificate.term.names.is_empty() {
            self.report.warning(
                &files.certificate,
                "there is no host name in this certificate, so no client will be content with it",
                "have one made with `subjectAltName`; the common name is not looked at any more",
            );
        }
        for name in &certificate.term.names {
            if !names.add(name, index) {
                self.report.error(
                    &files.certificate,
                    format!("`{name}` is in an earlier certificate of this listener too"),
                    "keep one of them: which is shown would depend on their order",
                );
            }
        }
    }

    fn authorities(&mut self, auth: &ClientAuth) -> Option<RootCertStore> {
        let file = &auth.authorities;
        let text = self.read(file, "the authorities of clients")?;
        let mut roots = RootCertStore::empty();
        let added = certificate::certificates(&text).and_then(|all| {
            all.into_iter().try_for_each(|each| {
                roots
                    .add(each)
                    .map_err(|error| Fault::BadCertificate(error.to_string()))
            })
        });
        match added {
            Ok(()) => Some(roots),
            Err(fault) => {
                let (message, cure) = certificate_fault(&fault);
                self.report.error(file, message, cure);
                None
            }
        }
    }

    fn say(&mut self, files: &CertificateFiles, fault: &Fault) {
        let file = match fault {
            Fault::NoCertificate | Fault::BadCertificate(_) => &files.certificate,
            Fault::NoKey | Fault::KeyEncrypted | Fault::BadKey(_) | Fault::Mismatch => &files.key,
        };
        let (message, cure) = certificate_fault(fault);
        self.report.error(file, message, cure);
    }

    fn look_at_age(&mut self, certificate: &Certificate, file: &NamedFile) {
        let message = match certificate.age(self.now) {
            Age::Right => return,
            Age::NotYet => "this certificate does not hold yet".to_owned(),
            Age::Over => "this certificate has expired: clients refuse it".to_owned(),
            Age::Ending(0) => "this certificate expires today".to_owned(),
            Age::Ending(days) => format!("this certificate expires in {days} d"),
        };
        let cure = "put a new one in its place: the file is watched";
        self.report.warning(file, message, cure);
    }

    fn look_who_reads(&mut self, key: &NamedFile) {
        let mode = self
            .folder
            .join(&key.path)
            .metadata()
            .map(|data| data.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o004 != 0) {
            let cure = format!("take the right away: `chmod o-r {}`", key.path);
            self.report
                .warning(key, "everybody on this machine may read this private key", cure);
        }
    }

    /// What `file` holds, which messages call `what`.
    fn read(&mut self, file: &NamedFile, what: &str) -> Option<Vec<u8>> {
        self.files
            .read(&self.folder.join(&file.path))
            .map_err(|error| {
                let message = format!("cannot read {what}: {}", in_words(&error));
                let cure = "paths are relative to the folder of this file, and read by the user that Tidegate runs as";
                self.report.error(file, message, cure);
            })
            .ok()
    }
}

fn certificate_fault(fault: &Fault) -> (String, &'static str) {
    let pem = "it has a part that begins with `-----BEGIN CERTIFICATE-----`";
    let (message, cure) = match fault {
        Fault::NoCertificate => ("there is no certificate in this file", pem),
        Fault::BadCertificate(why) => return (format!("this is not a certificate: {why}"), pem),
        Fault::NoKey => (
            "there is no private key in this file",
            "it has a part that begins with `-----BEGIN PRIVATE KEY-----`",
        ),
        Fault::KeyEncrypted => (
            "this private key is under a password, which nobody is here to type",
            "take it off: `openssl pkey -in key.pem -out plain.pem`",
        ),
        Fault::BadKey(why) => {
            return (
                format!("this private key cannot be used: {why}"),
                "take an ECDSA key (P-256 or P-384), an Ed25519 key, or an RSA key of 2,048 to 8,192 bits",
            );
        }
        Fault::Mismatch => (
            "this private key is not that of the certificate",
            "take the key that the certificate was asked for with",
        ),
    };
    (message.to_owned(), cure)
}
