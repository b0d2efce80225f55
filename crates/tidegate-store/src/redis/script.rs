//! The scripts, put together from their parts.
//!
//! A script is one program: what an algorithm needs stands in the file of its name. `charge` decides on requests, `give_back` undoes
//! charges of a request that another shard refused, `release` frees the slots of one request.

/// The program that tells the time by `$clock` and ends with `$ask`.
macro_rules! program {
    ($clock:literal, $ask:literal) => {
        concat!(
            include_str!(concat!("script/", $clock)),
            include_str!("script/numbers.lua"),
            include_str!("script/bucket.lua"),
            include_str!("script/windows.lua"),
            include_str!("script/log.lua"),
            include_str!("script/slots.lua"),
            include_str!("script/plan.lua"),
            include_str!(concat!("script/", $ask)),
        )
    };
}

/// Decides on all charges of all requests of a call.
pub(crate) const CHARGE: &str = program!("clock.lua", "charge.lua");

/// Gives back what charges have spent.
pub(crate) const GIVE_BACK: &str = program!("clock.lua", "give_back.lua");

/// Frees the slots of one request.
pub(crate) const RELEASE: &str = include_str!("script/release.lua");

/// The same by the time of the caller, for tests that set it.
#[cfg(any(test, feature = "conformance"))]
pub(crate) mod by_callers_clock {
    /// [`super::CHARGE`].
    pub(crate) const CHARGE: &str = program!("clock_of_caller.lua", "charge.lua");

    /// [`super::GIVE_BACK`].
    pub(crate) const GIVE_BACK: &str = program!("clock_of_caller.lua", "give_back.lua");
}

#[cfg(test)]
mod tests;
