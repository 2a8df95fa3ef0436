//! Today's calls of one key, in few bytes while they are much alike.

use crate::label::Label;
use crate::meter::Tally;

/// A compact form of [`Tally`], equal in every result.
#[derive(Clone, Debug)]
pub(super) enum Today {
    Few(Few),
    /// For keys with many labels, or many different statuses, until the day is over.
    Many(Box<Tally>),
}

/// Counts by label and status. Places after the first one without a label are empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Few {
    labels: [Option<Label>; Self::MOST],
    statuses: [u16; Self::MOST],
    calls: [u16; Self::MOST],
}

impl Default for Today {
    fn default() -> Self {
        Self::Few(Few::default())
    }
}

impl Today {
    /// Counts a call.
    pub(super) fn add(&mut self, label: Label, status: u16) {
        match self {
            Self::Few(few) => {
                if few.add(label, status, 1).is_none() {
                    let mut many = few.tally();
                    many.add(label, status, 1);
                    *self = Self::Many(Box::new(many));
                }
            }
            Self::Many(many) => many.add(label, status, 1),
        }
    }

    /// Counts a call with `status` that was counted with `recorded`.
    pub(super) fn correct(&mut self, label: Label, recorded: u16, status: u16) {
        match self {
            Self::Few(few) => {
                if few.take(label, recorded) {
                    self.add(label, status);
                }
            }
            Self::Many(many) => many.correct(recorded, status, 1),
        }
    }

    pub(super) fn tally(&self) -> Tally {
        match self {
            Self::Few(few) => few.tally(),
            Self::Many(many) => Tally::clone(many),
        }
    }
}

impl Few {
    const MOST: usize = 4;

    pub(super) fn iter(&self) -> impl Iterator<Item = (Label, u16, u16)> {
        let places = self.labels.iter().zip(&self.statuses).zip(&self.calls);
        let used = places.map_while(|((label, status), calls)| label.map(|label| (label, *status, *calls)));
        // A correction may have emptied a place.
        used.filter(|(_, _, calls)| *calls > 0)
    }

    /// `None`, with nothing counted, when there is no room.
    pub(super) fn add(&mut self, label: Label, status: u16, n: u16) -> Option<()> {
        let places = self.labels.iter_mut().zip(&mut self.statuses).zip(&mut self.calls);
        for ((own, own_status), calls) in places {
            match own {
                None => {
                    (*own, *own_status, *calls) = (Some(label), status, n);
                    return Some(());
                }
                Some(own) if *own == label && *own_status == status => {
                    *calls = calls.checked_add(n)?;
                    return Some(());
                }
                // A correction has emptied this place. Without its use, few corrections would need
                // the larger form.
                Some(own) if *calls == 0 => {
                    (*own, *own_status, *calls) = (label, status, n);
                    return Some(());
                }
                Some(_) => {}
            }
        }
        None
    }

    /// Takes a call back. Returns false if there is none.
    fn take(&mut self, label: Label, status: u16) -> bool {
        let places = self.labels.iter().zip(&self.statuses).zip(&mut self.calls);
        for ((own, own_status), calls) in places {
            if *own == Some(label) && *own_status == status && *calls > 0 {
                *calls -= 1;
                return true;
            }
        }
        false
    }

    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        self.iter().for_each(|(label, status, calls)| tally.add(label, status, u32::from(calls)));
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Tool;

    const QR: Label = Tool::Qr.label();

    #[test]
    fn today_is_small_and_equals_a_tally() {
        assert_eq!(size_of::<Today>(), 24);
        let (mut today, mut tally) = (Today::default(), Tally::default());
        for n in 0..200_000u32 {
            let label = if n % 2 == 0 { QR } else { Tool::Pdf.label() };
            let status = if n < 199_000 { 200 } else { 400 + u16::try_from(n % 100).unwrap() };
            today.add(label, status);
            tally.add(label, status, 1);
            if n % 1_000 == 0 {
                assert_eq!(today.tally(), tally, "{n}");
            }
        }
        assert_eq!(today.tally(), tally);
    }

    #[test]
    fn corrected_call_is_counted_once() {
        let mut today = Today::default();
        for status in 200..206 {
            today.add(QR, status);
            today.correct(QR, status, 503);
            // Nothing is left to correct.
            today.correct(QR, status, 500);
        }
        assert!(matches!(today, Today::Few(_)), "emptied places are used again");
        let mut tally = Tally::default();
        tally.add(QR, 503, 6);
        assert_eq!(today.tally(), tally);
    }
}
