//! Nothing of its own: `cargo xtask bench store` builds what this depends on.
