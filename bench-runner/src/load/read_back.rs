//! Do keys hold what was written to them last? Asked when the load is over, one key after the other.

use super::client::{Address, ClientError};
use super::generator::open_stream;
use super::reply::{Answer, judge};
use super::request::{Asked, Source, Workload};
use super::stream::{Connector, Stream};
use super::values::Values;
use crate::plan::Operation;
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadBack {
    /// Keys that were asked for.
    pub asked: usize,
    /// Keys among them that hold what they held before.
    pub stale: usize,
    /// Keys that hold something else, or nothing.
    pub wrong: usize,
    /// The first of all these, in words.
    pub first: Option<String>,
}

/// Reads keys that `workload` wrote with `values`, of which none may hold a value of an earlier generation.
///
/// # Errors
/// The connection is lost, or what comes is not the protocol.
pub fn read_back(
    address: &Address,
    workload: &Workload,
    values: &Values,
    written: &[Asked],
) -> Result<ReadBack, ClientError> {
    let workload = Workload {
        key_prefix: address.key_prefix.clone(),
        protocol: workload.protocol.kept(),
        ..workload.clone()
    };
    let connecting = |error| ClientError::Io { what: format!("connecting to {}", address.endpoint), error };
    let connector = Connector::new(address).map_err(connecting)?;
    let mut stream = open_stream(&connector, address, &workload.protocol)?;
    stream.set_timeout(PATIENCE).map_err(connecting)?;
    let newest = values.clone().of_this_generation_only();
    let source = Source::new(&workload, values, 0, 0);
    let (mut found, mut input) = (ReadBack::default(), Vec::new());
    for written in written {
        let asked = Asked { operation: Operation::Get, ..*written };
        let mut request = Vec::new();
        source.write(asked.operation, asked.index, asked.length, &mut request);
        stream.write_all(&request).and_then(|()| stream.flush()).map_err(failed)?;
        let (answer, used) = receive(&mut stream, &mut input, &asked, &newest, &workload)?;
        found.asked += 1;
        if !matches!(answer, Answer::Right(_)) {
            let is_stale = matches!(judge(&input, &asked, values, &workload), Answer::Right(_));
            if is_stale {
                found.stale += 1;
            } else {
                found.wrong += 1;
            }
            found.first.get_or_insert_with(|| match answer {
                Answer::Wrong(_, text) | Answer::Refused(_, text) if !is_stale => text,
                Answer::Missed(_) => format!("GET of key {} found nothing", asked.index),
                _ => format!("key {} holds what it held before", asked.index),
            });
        }
        input.drain(..used);
    }
    Ok(found)
}

fn failed(error: std::io::Error) -> ClientError {
    ClientError::Io { what: "reading back what was written".to_owned(), error }
}

/// Reads until the answer is whole; it is at the head of `input`, so many bytes long.
fn receive(
    stream: &mut Stream,
    input: &mut Vec<u8>,
    asked: &Asked,
    values: &Values,
    workload: &Workload,
) -> Result<(Answer, usize), ClientError> {
    let mut piece = [0; 32 * 1024];
    loop {
        let answer = judge(input, asked, values, workload);
        match answer {
            Answer::Right(used)
            | Answer::Missed(used)
            | Answer::Wrong(used, _)
            | Answer::Refused(used, _) => return Ok((answer, used)),
            Answer::Broken(reply) => {
                return Err(ClientError::Unexpected { request: "GET".to_owned(), reply });
            }
            Answer::Incomplete => match stream.read(&mut piece) {
                Ok(0) => {
                    let ended =
                        std::io::Error::new(ErrorKind::UnexpectedEof, "the target closed the connection");
                    return Err(failed(ended));
                }
                Ok(count) => input.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            },
        }
    }
}
