//! Keys files: beside policy files, and on their own.

use tidegate_core::KeyHasher;
use tidegate_policy::{ApiKeys, Config, Keyring, PolicyFile, Problems};

use super::{Files, LoadError, Loaded, Named, Place, PolicySource};

/// What a file was found to be.
#[derive(Clone, Debug)]
pub enum Checked {
    /// A policy file that can be served.
    Policies(Box<Loaded>),
    /// A keys file.
    Keys(Keyring),
}

impl PolicySource {
    /// What it is, and what it means: a file that begins as a list does is a keys file.
    ///
    /// # Errors
    /// [`LoadError`], with everything that is wrong at once.
    pub fn check(&self, hasher: &KeyHasher) -> Result<Checked, LoadError> {
        if let Place::Text(_) | Place::File(_) = self.place
            && let [only] = &self.read(&mut Files::default())?[..]
            && Keyring::is_written_in(&only.text)
        {
            return Ok(Checked::Keys(Keyring::parse(only.file())?));
        }
        Ok(Checked::Policies(Box::new(self.load(hasher)?)))
    }

    /// The API keys that `config` speaks of, and what their writer should look at.
    pub(super) fn read_api_keys(
        &self,
        files: &mut Files,
        config: &Config,
    ) -> Result<(Option<ApiKeys>, Problems), LoadError> {
        let Some(settings) = &config.identity.api_key else {
            return Ok((None, Problems::default()));
        };
        let settings = settings.clone();
        let Some(file) = &settings.keys else {
            let keyring = Keyring::default();
            return Ok((Some(ApiKeys { settings, keyring }), Problems::default()));
        };
        let Named { name, text } = self.read_named(files, file);
        let text = text.map_err(|error| LoadError::UnreadableKeys {
            name: name.clone(),
            named_in: self.name.clone(),
            error,
        })?;
        let keyring = Keyring::parse(PolicyFile {
            name: &name,
            text: &text,
        })?;
        let warnings = keyring.unnamed_tiers(&name, &config.policies);
        Ok((Some(ApiKeys { settings, keyring }), warnings))
    }
}
