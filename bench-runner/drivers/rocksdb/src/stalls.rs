//! How often, and how long, did writes wait? RocksDB says it in text that is made for people.

use std::time::Duration;

/// Delays and stops in the text of `rocksdb.cfstats`.
pub(crate) fn count(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("Write Stall (count):"))?;
    let field = |name: &str| -> Option<u64> {
        let rest = line.split(", ").find_map(|part| part.trim().strip_prefix(name))?;
        rest.trim().parse().ok()
    };
    Some(field("total-delays:")? + field("total-stops:")?)
}

/// The time in the text of `rocksdb.dbstats`, since the store was opened.
pub(crate) fn time(text: &str) -> Option<Duration> {
    let rest = text.lines().find_map(|line| line.strip_prefix("Cumulative stall:"))?;
    let clock = rest.split_whitespace().next()?;
    let mut parts = clock.split(':').map(|part| part.parse::<f64>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    Duration::try_from_secs_f64(hours * 3_600.0 + minutes * 60.0 + seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_read_from_the_text() {
        let text = "Uptime(secs): 1.0\nWrite Stall (count): cf-l0-file-count-limit-delays-with-ongoing-compaction: 1, \
                    memtable-limit-stops: 2, total-delays: 3, total-stops: 4\n";
        assert_eq!(count(text), Some(7));
        assert_eq!(count("nothing"), None);
    }

    #[test]
    fn their_time_is_read_from_the_text() {
        let text = "Cumulative WAL: 1 writes\nCumulative stall: 01:02:03.500 H:M:S, 0.1 percent\n";
        assert_eq!(time(text), Some(Duration::from_millis(3_723_500)));
        assert_eq!(time("Cumulative stall: soon"), None);
    }
}
