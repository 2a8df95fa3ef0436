//! A line of the access log in the format `combined`, which nginx and Apache share.

use shared::time::UnixMillis;

use super::buffer::{DAY_MS, LineBuffer, date, write_digits};
use super::line::Line;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The status of a request that had no response because its client left, as in nginx.
const CLIENT_CLOSED_REQUEST: u16 = 499;

impl Line<'_> {
    /// Appends the line as `address - key_id [time] "request" status bytes "referer" "user agent"`.
    pub(super) fn write_combined(&self, out: &mut Vec<u8>) {
        let mut out = LineBuffer(out);
        match self.client.and_then(|client| client.address) {
            Some(address) => out.shown(address),
            None => out.text("-"),
        };
        out.text(" - ");
        match self.call {
            Some(call) => out.bytes(&call.key_id.text()),
            None => out.text("-"),
        };
        out.text(" [").common_time(self.time).text("] \"");
        match self.client.filter(|client| client.has_head()) {
            Some(client) => {
                out.escaped(client.method.as_bytes()).text(" ").escaped(client.path.as_bytes());
                out.text(" ").text(client.protocol)
            }
            None => out.text("-"),
        };
        let status = if self.status == 0 { CLIENT_CLOSED_REQUEST } else { self.status };
        out.text("\" ").number(status.into());
        out.text(" ").number(u64::try_from(self.sent).unwrap_or(u64::MAX));
        out.text(" \"").escaped(self.client.and_then(|client| client.referer.as_deref()).unwrap_or(b"-"));
        out.text("\" \"")
            .escaped(self.client.and_then(|client| client.user_agent.as_deref()).unwrap_or(b"-"));
        out.text("\"\n");
    }
}

impl LineBuffer<'_> {
    /// Appends a time as in the Common Log Format, in UTC: `26/Nov/2026:15:02:31 +0000`.
    fn common_time(&mut self, time: UnixMillis) -> &mut Self {
        let (year, month, day) = date(time.0 / DAY_MS);
        let month = usize::try_from(month - 1).ok().and_then(|month| MONTHS.get(month));
        let seconds = time.0 % DAY_MS / 1_000;
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        let mut date = *b"00/";
        write_digits(&mut date, [(0, 2, day)]);
        let mut rest = *b"/0000:00:00:00 +0000";
        write_digits(&mut rest, [(1, 4, year), (6, 2, hour), (9, 2, minute), (12, 2, second)]);
        self.bytes(&date).text(month.unwrap_or(&"Jan")).bytes(&rest)
    }
}
