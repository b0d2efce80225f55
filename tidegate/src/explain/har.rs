//! Requests that a browser or a tool recorded: HTTP Archive 1.2.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::asked::{Asked, Pieces};

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// The requests in the file at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<Asked>, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("cannot read {}: {error}", path.display());
    let file = File::open(path).map_err(|error| cannot(&error))?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| cannot(&error))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(cannot(&"it is larger than 64 MiB"));
    }
    let archive: Value = serde_json::from_str(&text).map_err(|error| cannot(&error))?;
    let entries = archive.pointer("/log/entries").and_then(Value::as_array);
    let entries = entries.ok_or_else(|| cannot(&"it is no HTTP Archive: there is no `log.entries`"))?;
    entries.iter().map(entry).collect()
}

fn entry(entry: &Value) -> Result<Asked, String> {
    let text = |pointer| entry.pointer(pointer).and_then(Value::as_str);
    let headers = entry.pointer("/request/headers").and_then(Value::as_array);
    let header = |header: &Value| {
        let name = header.get("name")?.as_str()?;
        // Browsers note HTTP/2's `:path` and its kin here, which are no header fields.
        let value = header.get("value")?.as_str()?;
        (!name.starts_with(':')).then(|| (name.to_owned(), value.to_owned()))
    };
    Pieces {
        method: text("/request/method").map(str::to_owned),
        url: text("/request/url").unwrap_or_default().to_owned(),
        headers: headers.into_iter().flatten().filter_map(header).collect(),
        body: text("/request/postData/text")
            .unwrap_or_default()
            .as_bytes()
            .to_vec(),
    }
    .joined()
}
