//! INCRBYFLOAT: numbers of x86's extended precision, as Redis computes with them there, whatever the processor is.

use plumbkv::Fetched;
use rustc_apfloat::ieee::X87DoubleExtended;
use rustc_apfloat::{Float as _, Round, Status};

use super::{CommandError, Context};

/// The longest number that is read, in bytes.
const LONGEST: usize = 5 * 1024;
/// Digits behind the point.
const DIGITS: usize = 17;

/// Adds a number to the one stored under `key`, which starts out as 0. The expiry stays.
pub(super) fn increment(context: &mut Context<'_>, key: &[u8], by: &[u8]) -> Result<(), CommandError> {
    const NOT_A_FLOAT: CommandError = CommandError::fixed("ERR value is not a valid float");
    let database = context.keys();
    loop {
        let before = database.fetch(key, |found| match found {
            Fetched::Bytes(bytes) => bytes.to_vec(),
            Fetched::Value(value) if value.len() < LONGEST => value.to_vec(),
            // No number is so long.
            Fetched::Value(_) => Vec::new(),
        })?;
        let old = match &before {
            None => X87DoubleExtended::ZERO,
            Some(text) => parse(text).ok_or(NOT_A_FLOAT)?,
        };
        let sum = old.add_r(parse(by).ok_or(NOT_A_FLOAT)?, Round::NearestTiesToEven).value;
        if sum.is_nan() || sum.is_infinite() {
            return Err(CommandError::fixed("ERR increment would produce NaN or Infinity"));
        }
        let text = print(sum);
        if database.compare_and_set(key, before.as_deref(), Some(text.as_bytes()))? {
            context.changed(key);
            return context.bulk(text.as_bytes());
        }
        // Another client has changed it meanwhile.
    }
}

/// Reads a number as C's `strtold` does, the whole text; none that is too large, or too small to be told from 0.
fn parse(text: &[u8]) -> Option<X87DoubleExtended> {
    if text.len() >= LONGEST {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    let (sign, digits) = match text.as_bytes() {
        [b'-', ..] => ("-", &text[1..]),
        [b'+', ..] => ("", &text[1..]),
        _ => ("", text),
    };
    if ["inf", "infinity"].iter().any(|name| digits.eq_ignore_ascii_case(name)) {
        let infinity = X87DoubleExtended::INFINITY;
        return Some(if sign.is_empty() { infinity } else { -infinity });
    }
    let number = format!("{sign}{}", spelled_out(digits)?);
    let read = X87DoubleExtended::from_str_r(&number, Round::NearestTiesToEven).ok()?;
    let is_lost = read.status.intersects(Status::OVERFLOW)
        || read.status.intersects(Status::UNDERFLOW) && read.value.is_zero();
    (!is_lost).then_some(read.value)
}

/// A number without its sign, with the point and the exponent that `from_str_r` needs: digits with a
/// point or without, and an exponent of 10 or none; behind `0x` hexadecimal digits, and an exponent
/// of 2 or none.
fn spelled_out(text: &str) -> Option<String> {
    /// More digits of an exponent make 0, or what is beyond all numbers.
    const EXPONENT_DIGITS: usize = 6;
    let is_hex = matches!(text.as_bytes(), [b'0', b'x' | b'X', ..]);
    let (prefix, body, marks) = if is_hex { ("0x", &text[2..], ['p', 'P']) } else { ("", text, ['e', 'E']) };
    let (mantissa, exponent) = match body.find(marks) {
        Some(at) => (&body[..at], &body[at + 1..]),
        None => (body, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = whole.bytes().chain(fraction.bytes());
    let is_digit = |byte: u8| if is_hex { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
    if whole.len() + fraction.len() == 0 || !digits.clone().all(is_digit) {
        return None;
    }
    let power = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    if power.is_empty() || !power.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let sign = if exponent.starts_with('-') { "-" } else { "" };
    let power = power.trim_start_matches('0');
    let power = match power.len() {
        0 => "0",
        1..=EXPONENT_DIGITS => power,
        _ if digits.all(|digit| digit == b'0') => "0",
        _ => return None,
    };
    Some(format!("{prefix}{whole}.{fraction}{}{sign}{power}", marks[0]))
}

/// As C's `%.17Lf` prints it, without zeros at the end.
fn print(value: X87DoubleExtended) -> String {
    /// Zeros that are written out: more than any such number has.
    const WIDEST: usize = 20_000;
    if value.is_zero() {
        return "0".to_owned();
    }
    let digits = digits_of(value);
    let exact = format!("{value:WIDEST$.digits$}");
    let (sign, digits) = exact.strip_prefix('-').map_or(("", &exact[..]), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut kept: Vec<u8> = [whole.as_bytes(), &fraction.as_bytes()[..fraction.len().min(DIGITS)]].concat();
    kept.resize(whole.len() + DIGITS, b'0');
    let rest = fraction.as_bytes().get(DIGITS..).unwrap_or_default();
    if is_above_half(rest, kept.last().is_some_and(|digit| digit % 2 == 1)) {
        round_up(&mut kept);
    }
    let (whole, fraction) = kept.split_at(kept.len() - DIGITS);
    let text = format!("{}.{}", String::from_utf8_lossy(whole), String::from_utf8_lossy(fraction));
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "0" { text.to_owned() } else { format!("{sign}{text}") }
}

/// At least as many significant digits as a number has: one for each bit behind the point, and one for about three before it.
fn digits_of(value: X87DoubleExtended) -> usize {
    /// Bits of the mantissa.
    const BITS: i32 = 64;
    let exponent = value.ilogb();
    let (before, behind) = (exponent.max(0) / 3 + 2, (BITS - exponent).max(1));
    (before + behind) as usize
}

/// Whether the digits that are left out make the last one kept larger; of two that are as near the even one is taken.
fn is_above_half(rest: &[u8], is_odd: bool) -> bool {
    match rest.split_first() {
        Some((b'5', behind)) => is_odd || behind.iter().any(|digit| *digit != b'0'),
        Some((first, _)) => *first > b'5',
        None => false,
    }
}

fn round_up(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    digits.insert(0, b'1');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::test_support::Driver;

    #[test]
    fn sums_are_those_of_redis() {
        Driver::new().connect().check_all(
            "incrbyfloat f 10.50 -> $4|10.5|
             incrbyfloat f 0.1 -> $4|10.6|
             incrbyfloat f -5 -> $3|5.6|
             set f 5.0e3 ex 100 -> +OK|
             incrbyfloat f 2.0e2 -> $4|5200|
             ttl f -> :100|
             set f 0.1 -> +OK|
             incrbyfloat f 0.2 -> $3|0.3|
             set f 3 -> +OK|
             incrbyfloat f 1.1 -> $3|4.1|
             set f -0.5 -> +OK|
             incrbyfloat f 0.5 -> $1|0|
             incrbyfloat f 1e20 -> $21|100000000000000000000|
             set f abc -> +OK|
             incrbyfloat f 1 -> -ERR value is not a valid float|
             set f 1 -> +OK|
             incrbyfloat f x -> -ERR value is not a valid float|
             incrbyfloat f nan -> -ERR value is not a valid float|
             incrbyfloat f inf -> -ERR increment would produce NaN or Infinity|
             incrbyfloat f 1e5000 -> -ERR value is not a valid float|
             set f 0x10 -> +OK|
             incrbyfloat f 0X1.8p3 -> $2|28|
             incrbyfloat f -0x.8P-0000000001 -> $5|27.75|
             incrbyfloat f 0x0p99999999 -> $5|27.75|
             incrbyfloat f 1e0000000001 -> $5|37.75|
             set f 1 -> +OK|
             incrbyfloat f -> -ERR wrong number of arguments for 'incrbyfloat' command|
             get f -> $1|1|",
        );
    }

    #[test]
    fn what_is_no_number_is_not_read() {
        for text in ["", " 1", "1 ", "1.2.3", "e5", ".", "+", "-", "1e", "1e+", "0x", "1_000", "--1", "nan"]
            .into_iter()
            .chain([
                "0x.",
                "0x1p",
                "0x1p+",
                "0x1g",
                "0x1p1a",
                "0x0x1",
                "1p5",
                "0x1p16384",
                "0x1p-16446",
                "1e9999999",
            ])
        {
            assert!(parse(text.as_bytes()).is_none(), "{text:?}");
        }
        for text in ["1", "+1", "-1", ".5", "5.", "1e5", "1E-5", "1.5e+3", "inf", "-Infinity", "0e99999999"] {
            assert!(parse(text.as_bytes()).is_some(), "{text:?}");
        }
    }
}
