//! What do other load generators print? Pure: text in, figures out.

/// What a program said of its run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) operations: u64,
    /// Of them, answered by an error, not answered, or answered by another status than it should be.
    pub(super) errors: u64,
    pub(super) ops_per_second: f64,
    /// Metric and value, ns.
    pub(super) latencies_ns: Vec<(&'static str, f64)>,
}

/// Columns of `redis-benchmark --csv` (7.0), in ms, and what they are here.
const COLUMNS: [(&str, &str); 5] = [
    ("avg_latency_ms", "latency_ns_mean"),
    ("p50_latency_ms", "latency_ns_p50"),
    ("p95_latency_ms", "latency_ns_p95"),
    ("p99_latency_ms", "latency_ns_p99"),
    ("max_latency_ms", "latency_ns_max"),
];

/// The two lines of `redis-benchmark -t set --csv`: names and figures. It ends itself at the first wrong reply.
pub(super) fn redis_benchmark(text: &str, requests: u64) -> Result<Said, String> {
    let fields =
        |line: &str| line.split(',').map(|field| field.trim().trim_matches('"').to_owned()).collect();
    let mut lines = text.lines().map(str::trim).filter(|line| line.starts_with('"'));
    let (Some(names), Some(figures)) = (lines.next(), lines.next()) else {
        return Err(format!("its output has no table: {}", first_words(text)));
    };
    let (names, figures): (Vec<String>, Vec<String>) = (fields(names), fields(figures));
    let figure = |name: &str| -> Option<f64> {
        let place = names.iter().position(|known| known == name)?;
        figures.get(place)?.parse().ok().filter(|value: &f64| value.is_finite())
    };
    let ops_per_second = figure("rps").ok_or("its table has no rate (column rps)")?;
    let latencies_ns =
        COLUMNS.iter().filter_map(|(column, metric)| Some((*metric, figure(column)? * 1e6))).collect();
    Ok(Said { operations: requests, errors: 0, ops_per_second, latencies_ns })
}

/// What `wrk --latency` prints.
pub(super) fn wrk(text: &str) -> Result<Said, String> {
    let after = |head: &str| text.lines().find_map(|line| line.trim().strip_prefix(head)).map(str::trim);
    let ops_per_second: f64 = after("Requests/sec:")
        .and_then(|figure| figure.parse().ok())
        .ok_or_else(|| format!("its output has no rate: {}", first_words(text)))?;
    let operations = text
        .lines()
        .find_map(|line| line.trim().split_once(" requests in ")?.0.parse().ok())
        .ok_or("its output has no number of requests")?;
    let refused: u64 = after("Non-2xx or 3xx responses:").and_then(|count| count.parse().ok()).unwrap_or(0);
    let lost: u64 = after("Socket errors:")
        .map(|list| {
            list.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse::<u64>().ok()).sum()
        })
        .unwrap_or(0);
    let mut latencies_ns = Vec::new();
    for (head, metric) in [("50%", "latency_ns_p50"), ("90%", "latency_ns_p90"), ("99%", "latency_ns_p99")] {
        if let Some(ns) = after(head).and_then(duration_ns) {
            latencies_ns.push((metric, ns));
        }
    }
    Ok(Said { operations, errors: refused + lost, ops_per_second, latencies_ns })
}

/// `635.00us`, `1.23ms`, `2.00s`.
fn duration_ns(text: &str) -> Option<f64> {
    let (figure, scale) = [("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9)]
        .into_iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    Some(figure.trim().parse::<f64>().ok()? * scale)
}

/// Clock ticks of children that were waited for, from `/proc/PID/stat`: its 16th and 17th field, counted from
/// behind the name, which may hold anything.
pub(super) fn children_ticks(stat: &str) -> u64 {
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    field(16) + field(17)
}

fn first_words(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it printed nothing");
    line.chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Captured from redis-benchmark 7.0.15: `-t set -d 64 -c 50 -P 1 -r 1000 -n 20000 --csv`.
    const CSV: &str = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n\"SET\",\"84033.61\",\"0.349\",\"0.112\",\"0.335\",\"0.495\",\"0.711\",\"1.639\"\n";

    /// Captured from wrk 4.1.0 against nginx, with a line of each kind of trouble added.
    const WRK: &str = "Running 1s test @ http://127.0.0.1:8080/
  1 threads and 10 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   635.27us  207.60us   4.31ms   86.22%
    Req/Sec    15.56k     1.37k   17.09k    70.00%
  Latency Distribution
     50%  612.00us
     75%  701.00us
     90%  820.00us
     99%    1.38ms
  15479 requests in 1.00s, 12.55MB read
Requests/sec:  15462.06
Transfer/sec:     12.53MB
";

    fn metric(said: &Said, name: &str) -> f64 {
        said.latencies_ns.iter().find(|(metric, _)| *metric == name).unwrap().1
    }

    #[test]
    fn the_table_of_redis_benchmark_is_read() {
        let said = redis_benchmark(CSV, 20_000).unwrap();
        assert_eq!((said.operations, said.errors, said.ops_per_second), (20_000, 0, 84_033.61));
        assert!((metric(&said, "latency_ns_p50") - 335_000.0).abs() < 1e-3);
        assert!((metric(&said, "latency_ns_p99") - 711_000.0).abs() < 1e-3);
        assert_eq!(said.latencies_ns.len(), 5);
    }

    #[test]
    fn a_warning_before_the_table_is_passed_over_and_no_table_is_told() {
        let text = format!("WARNING: Could not fetch server CONFIG\n{CSV}");
        assert_eq!(redis_benchmark(&text, 1).unwrap().ops_per_second, 84_033.61);
        let error = redis_benchmark("Could not connect to Redis at 127.0.0.1:1\n", 1).unwrap_err();
        assert!(error.contains("no table: Could not connect"), "{error}");
        assert!(redis_benchmark("\"test\",\"x\"\n\"SET\",\"1\"\n", 1).unwrap_err().contains("no rate"));
        assert!(redis_benchmark("", 1).unwrap_err().contains("printed nothing"));
    }

    #[test]
    fn what_wrk_prints_is_read() {
        let said = wrk(WRK).unwrap();
        assert_eq!((said.operations, said.errors, said.ops_per_second), (15_479, 0, 15_462.06));
        assert_eq!(metric(&said, "latency_ns_p50"), 612_000.0);
        assert!((metric(&said, "latency_ns_p99") - 1_380_000.0).abs() < 1e-6);
    }

    #[test]
    fn refused_and_lost_requests_of_wrk_are_errors() {
        let text = format!(
            "{WRK}  Socket errors: connect 1, read 20, write 0, timeout 3\n  Non-2xx or 3xx responses: 7\n"
        );
        assert_eq!(wrk(&text).unwrap().errors, 31);
        assert!(
            wrk("unable to connect to 127.0.0.1:1 Connection refused\n").unwrap_err().contains("no rate")
        );
    }

    #[test]
    fn children_are_counted_behind_a_name_with_spaces_and_brackets() {
        let stat = "12 (a ) b (c) S 1 12 12 0 -1 4194304 100 200 0 0 5 6 70 8 20 0 1 0 99";
        assert_eq!(children_ticks(stat), 78);
        assert_eq!(children_ticks(""), 0);
    }
}
