//! Asks the operating system to back the table by huge pages. Advice only: everything works without.

#![allow(unsafe_code, reason = "one system call, proven where it is made")]

/// Asks for huge pages in the `len` bytes at `address`.
#[cfg(target_os = "linux")]
pub(crate) fn advise(address: *const u8, len: usize) {
    use rustix::mm::{Advice, madvise};

    let skipped = address.align_offset(rustix::param::page_size());
    let Some(len) = len.checked_sub(skipped) else {
        return;
    };
    let start = address.wrapping_add(skipped).cast_mut().cast();
    // SAFETY: MADV_HUGEPAGE changes how the kernel backs a mapping, not what it holds, whether it exists or who may touch it
    // (madvise(2)), whatever the range. A kernel without it answers with an error, and nothing depends on it.
    let _ = unsafe { madvise(start, len, Advice::LinuxHugepage) };
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
pub(crate) fn advise(_address: *const u8, _len: usize) {}
