//! What counters are called in the store: `tg1:{2f}:b:Zm9vYmFyYmF6cXV4MTIzNA`.
//!
//! First comes the version of all this, so that a later one may count otherwise beside it. The braces hold the virtual shard: all
//! counters of one subject share it, and with it a slot of a cluster. Then a letter for the kind of state, so that a changed
//! algorithm begins anew, and the hash of what is counted, which names no client.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tidegate_core::Key;

use super::numbers::Kind;

/// The name of a counter.
pub(crate) fn counter(prefix: &str, key: Key, kind: Kind) -> String {
    let mut name = shard_prefix(prefix, key.shard(), COUNTER);
    name.push(kind.letter());
    name.push(':');
    URL_SAFE_NO_PAD.encode_string(key.hash().to_be_bytes(), &mut name);
    name
}

/// How long the name of a counter is behind its shard: a letter, a colon and 22 characters.
const COUNTER: usize = 24;

/// Where a shard keeps which master it has seen.
pub(crate) fn epoch(prefix: &str, shard: u8) -> String {
    in_shard(prefix, shard, "epoch")
}

/// The name of something that a shard has once.
pub(crate) fn in_shard(prefix: &str, shard: u8, what: &str) -> String {
    let mut name = shard_prefix(prefix, shard, what.len());
    name.push_str(what);
    name
}

/// How all names in a shard begin, with room for `more` bytes.
fn shard_prefix(prefix: &str, shard: u8, more: usize) -> String {
    let digit = |digit| char::from_digit(u32::from(digit), 16).unwrap_or('0');
    let mut name = String::with_capacity(prefix.len() + ":{00}:".len() + more);
    name.push_str(prefix);
    name.push_str(":{");
    name.push(digit(shard >> 4));
    name.push(digit(shard & 15));
    name.push_str("}:");
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_of_a_counter_is_its_shard_and_the_rest_its_hash() {
        let key = Key::in_shard(1, 0x2f);
        let name = counter("tg1", key, Kind::Even);
        assert_eq!(name, "tg1:{2f}:b:AAAAAAAALwAAAAAAAAAAAQ");
        assert_eq!(epoch("tg1", key.shard()), "tg1:{2f}:epoch");
    }

    #[test]
    fn buckets_of_either_kind_share_a_name_and_other_kinds_do_not() {
        let key = Key::from_hash(7);
        let names = |kinds: [Kind; 2]| kinds.map(|kind| counter("tg1", key, kind));
        let [even, uneven] = names([Kind::Even, Kind::Uneven]);
        assert_eq!(even, uneven, "a changed rate finds the old state");
        let [log, slots] = names([Kind::Log, Kind::Slots]);
        assert_ne!(log, slots);
    }
}
