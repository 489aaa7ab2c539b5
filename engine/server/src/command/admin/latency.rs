//! SLOWLOG and LATENCY: which requests were slow.

use crate::command::args::{self, Arguments};
use crate::command::table::Id;
use crate::command::{CommandError, Context};

/// What SLOWLOG or LATENCY is asked.
#[derive(Debug)]
pub(crate) enum Query<'a> {
    SlowLog { count: usize },
    SlowLogLength,
    SlowLogReset,
    Latest,
    History { event: &'a [u8] },
    Reset { events: Arguments<'a> },
    Histogram,
    Doctor,
}

/// Entries that SLOWLOG GET answers unless it is told how many.
const ENTRIES: usize = 10;

impl<'a> Query<'a> {
    pub(crate) fn parse(id: Id, mut words: Arguments<'a>) -> Result<Self, CommandError> {
        Ok(match id {
            Id::SlowlogGet => Self::SlowLog { count: parse_count(words)? },
            Id::SlowlogLen => Self::SlowLogLength,
            Id::SlowlogReset => Self::SlowLogReset,
            Id::LatencyLatest => Self::Latest,
            Id::LatencyHistory => Self::History { event: words.word() },
            Id::LatencyReset => Self::Reset { events: words },
            Id::LatencyHistogram => Self::Histogram,
            Id::LatencyDoctor => Self::Doctor,
            _ => return Err(CommandError::not_served()),
        })
    }

    pub(crate) fn answer(self, context: &mut Context<'_>) -> Result<(), CommandError> {
        let latency = &context.shared.latency;
        match self {
            Self::SlowLog { count } => {
                let bytes = latency.slow_log.reply_bytes(count);
                context.output.make_room(context.shared, bytes)?;
                latency.slow_log.reply(count, &mut context.reply());
                Ok(())
            }
            Self::SlowLogLength => context.integer(latency.slow_log.len() as i64),
            Self::SlowLogReset => {
                latency.slow_log.reset(context.shared);
                context.ok()
            }
            Self::Latest => {
                let latest = latency.events.latest();
                let mut reply = context.reply();
                reply.array(latest.len());
                for one in latest {
                    reply.array(4);
                    reply.bulk(one.event.as_bytes());
                    [one.sample.second, one.sample.ms, one.longest_ms]
                        .into_iter()
                        .for_each(|number| reply.integer(number as i64));
                }
                Ok(())
            }
            Self::History { event } => {
                let samples = latency.events.history(event);
                let mut reply = context.reply();
                reply.array(samples.len());
                for sample in samples {
                    reply.array(2);
                    reply.integer(sample.second as i64);
                    reply.integer(sample.ms as i64);
                }
                Ok(())
            }
            Self::Reset { events } => {
                let is_wanted =
                    |event: &[u8]| events.len() == 0 || events.into_iter().any(|wanted| wanted == event);
                let count = latency.events.reset(is_wanted);
                context.integer(count as i64)
            }
            // As of a Redis with `latency-tracking no`.
            Self::Histogram => {
                context.reply().map(0);
                Ok(())
            }
            Self::Doctor => {
                let text = diagnose(context);
                context.reply().verbatim("txt", text.as_bytes());
                Ok(())
            }
        }
    }
}

fn parse_count(mut words: Arguments<'_>) -> Result<usize, CommandError> {
    let Some(word) = words.next() else { return Ok(ENTRIES) };
    if words.len() > 0 {
        return Err(CommandError::quoting(
            "ERR unknown subcommand or wrong number of arguments for '",
            words.at(1),
            "'. Try SLOWLOG HELP.",
        ));
    }
    match args::parse_integer(word) {
        Some(-1) => Ok(usize::MAX),
        Some(count) => usize::try_from(count).map_err(|_| COUNT),
        None => Err(COUNT),
    }
}

const COUNT: CommandError = CommandError::fixed("ERR count should be greater than or equal to -1");

/// The text of LATENCY DOCTOR.
fn diagnose(context: &Context<'_>) -> String {
    let latency = &context.shared.latency;
    let threshold_ms = latency.monitor_ms();
    if threshold_ms == 0 {
        return "Latency monitoring is disabled. Enable it with CONFIG SET latency-monitor-threshold <milliseconds>."
            .to_owned();
    }
    let latest = latency.events.latest();
    if latest.is_empty() {
        return format!("No command took {threshold_ms} ms (latency-monitor-threshold) or longer.");
    }
    let mut text = String::new();
    for one in latest {
        let history = latency.events.history(one.event.as_bytes());
        let total: u64 = history.iter().map(|sample| sample.ms).sum();
        let mean = total / (history.len() as u64).max(1);
        text += &format!(
            "{}: {} latency spikes (mean {mean} ms, worst {} ms).\n",
            one.event,
            history.len(),
            one.longest_ms
        );
    }
    text + "SLOWLOG GET shows which requests they were, where slowlog-log-slower-than is not above the threshold."
}

#[cfg(test)]
mod tests {
    use crate::session::test_support::Driver;

    #[test]
    fn counts_and_names_are_checked_in_redis_words() {
        let driver = Driver::new();
        let mut client = driver.connect();
        client.check_all(
            "slowlog get -> *0|
             slowlog get 0 -> *0|
             slowlog get -1 -> *0|
             slowlog get -2 -> -ERR count should be greater than or equal to -1|
             slowlog get x -> -ERR count should be greater than or equal to -1|
             slowlog GET 1 2 -> -ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.|
             slowlog foo -> -ERR unknown subcommand 'foo'. Try SLOWLOG HELP.|
             slowlog len -> :0|
             slowlog reset -> +OK|
             latency latest -> *0|
             latency history command -> *0|
             latency history -> -ERR wrong number of arguments for 'latency|history' command|
             latency reset -> :0|
             latency reset command nosuch -> :0|
             latency histogram get -> *0|
             config get slowlog* -> *4|$23|slowlog-log-slower-than|$5|10000|$15|slowlog-max-len|$3|128|
             config get latency* -> *4|$25|latency-monitor-threshold|$1|0|$16|latency-tracking|$2|no|
             config set slowlog-log-slower-than -2 -> -ERR CONFIG SET failed (possibly related to argument 'slowlog-log-slower-than') - argument must be between -1 and 9223372036854775807 inclusive|
             config set slowlog-log-slower-than x -> -ERR CONFIG SET failed (possibly related to argument 'slowlog-log-slower-than') - argument couldn't be parsed into an integer|
             config set latency-monitor-threshold -1 -> -ERR CONFIG SET failed (possibly related to argument 'latency-monitor-threshold') - argument must be between 0 and 9223372036854775807 inclusive|",
        );
        assert!(client.ask("latency doctor").contains("is disabled"));
        assert!(
            client.ask("latency help").contains("LATEST") && client.ask("slowlog help").contains("RESET")
        );
    }

    #[test]
    fn a_slow_command_is_logged_and_monitored_and_a_fast_one_is_not() {
        let driver = Driver::new();
        let mut client = driver.connect();
        client.ask("config set latency-monitor-threshold 30 slowlog-log-slower-than 30000");
        client.check("latency latest", "*0\r\n");
        assert!(client.ask("latency doctor").contains("No command took 30 ms"));
        let script = "local t = redis.call('time') local function us(t) return t[1] * 1000000 + t[2] end \
                      repeat local now = redis.call('time') until us(now) - us(t) > 50000";
        client.ask(&format!("eval \"{script}\" 0"));
        client.ask("get k");
        client.check("slowlog len", ":1\r\n");
        let latest = client.ask("latency latest");
        assert!(latest.starts_with("*1\r\n*4\r\n$7\r\ncommand\r\n:"), "{latest}");
        let history = client.ask("latency history command");
        let ms: u64 = history.trim().rsplit(':').next().unwrap().parse().unwrap();
        assert!((50..30_000).contains(&ms), "{history}");
        assert!(client.ask("latency doctor").contains("command: 1 latency spikes"));
        client.check("latency reset fast-command", ":0\r\n");
        client.check("latency reset", ":1\r\n");
        client.check("latency latest", "*0\r\n");
    }
}
