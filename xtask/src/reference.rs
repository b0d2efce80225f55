//! `docs/reference.md`: every field of every file, a table for each mapping, made of the JSON Schemas in `docs/`.

mod page;
mod schema;

use std::fs;

use anyhow::{Context as _, bail};
use clap::Args;

use crate::command::root;
use page::Page;
use schema::Schema;

/// What is asked for.
#[derive(Args)]
pub(crate) struct Options {
    /// Write nothing, and fail if the page is out of date.
    #[arg(long)]
    check: bool,
}

const PAGE: &str = "docs/reference.md";

/// Writes the page, or looks whether it has to be written.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if !options.check {
        return fs::write(root().join(PAGE), page()?).context(PAGE);
    }
    match out_of_date()? {
        Some(problem) => bail!(problem),
        None => Ok(()),
    }
}

/// What is to be done if the page is not what the schemas say.
pub(crate) fn out_of_date() -> anyhow::Result<Option<String>> {
    let written = fs::read_to_string(root().join(PAGE)).unwrap_or_default();
    let is_right = written == page()?;
    Ok((!is_right).then(|| format!("{PAGE}: not what the schemas say: run `cargo xtask reference`")))
}

fn page() -> anyhow::Result<String> {
    let policy_files = read("docs/tidegate.schema.json")?;
    let keys_files = read("docs/keys.schema.json")?;
    let mut page = Page::new();
    page.add(&policy_files)?;
    page.add(&keys_files)?;
    Ok(page.finish())
}

fn read(path: &str) -> anyhow::Result<Schema> {
    let text = fs::read_to_string(root().join(path)).context(path.to_owned())?;
    serde_json::from_str(&text).context(path.to_owned())
}
