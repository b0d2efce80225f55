//! The checksum of version 2 (RFC 3385's CRC-32C), computed with its own four bytes as zeros. Headers are short and few carry one,
//! so bit by bit is fast enough.

/// The polynomial, lowest bit first.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// Whether the four bytes at `at` are the checksum of `header`.
pub(super) fn is_right(header: &[u8], at: usize) -> bool {
    let Some((before, rest)) = header.split_at_checked(at) else {
        return false;
    };
    let Some((told, after)) = rest.split_first_chunk::<4>() else {
        return false;
    };
    let sum = [before, &[0; 4], after].into_iter().fold(!0, add);
    !sum == u32::from_be_bytes(*told)
}

fn add(sum: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(sum, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            if sum & 1 == 1 {
                sum >> 1 ^ POLYNOMIAL
            } else {
                sum >> 1
            }
        })
    })
}

/// The checksum of `bytes`.
#[cfg(test)]
pub(super) fn of(bytes: &[u8]) -> u32 {
    !add(!0, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_catalogue_of_crcs_comes_out() {
        assert_eq!(of(b"123456789"), 0xe306_9283);
        // RFC 3720, appendix B.4.
        assert_eq!(of(&[0; 32]), 0x8a91_36aa);
        assert_eq!(of(&[0xff; 32]), 0x62a8_ab43);
    }
}
