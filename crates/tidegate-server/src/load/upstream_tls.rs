//! Certificates, keys and roots of upstreams, from the files that the policy file names.

use tidegate_policy::Upstream;

use super::LoadError;
use crate::upstream::{Material, TlsClient};

/// How TLS to `upstream` is spoken, if it is. `read` gives what files hold, or says why not.
pub(super) fn client(
    upstream: &Upstream,
    read: impl FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<Option<TlsClient>, LoadError> {
    if !upstream.servers.iter().any(|server| server.url.is_tls()) {
        return Ok(None);
    }
    material(upstream, read)
        .and_then(|material| TlsClient::new(&material))
        .map(Some)
        .map_err(|why| LoadError::UpstreamTls {
            upstream: upstream.name.to_string(),
            why,
        })
}

fn material(
    upstream: &Upstream,
    mut read: impl FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<Material, String> {
    let tls = &upstream.tls;
    let ca = tls.ca.as_deref().map(&mut read).transpose()?;
    let client = match &tls.client {
        Some(client) => Some((read(&client.certificate)?, read(&client.key)?)),
        None => None,
    };
    Ok(Material {
        ca,
        client,
        insecure: tls.insecure_skip_verify,
    })
}
