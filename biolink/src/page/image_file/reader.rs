//! A reader of bytes that never reads beyond their end.

/// The bytes that are left.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(count)?;
        self.0 = left;
        Some(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk().copied()
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Option<usize> {
        self.array().map(u16::from_be_bytes).map(usize::from)
    }

    pub(super) fn u16_le(&mut self) -> Option<usize> {
        self.array().map(u16::from_le_bytes).map(usize::from)
    }

    pub(super) fn u24_le(&mut self) -> Option<usize> {
        let [low, middle, high] = self.array()?;
        usize::try_from(u32::from_le_bytes([low, middle, high, 0])).ok()
    }

    pub(super) fn u32(&mut self) -> Option<usize> {
        usize::try_from(u32::from_be_bytes(self.array()?)).ok()
    }

    pub(super) fn u32_le(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.array()?)).ok()
    }
}
