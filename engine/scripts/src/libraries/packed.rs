//! `struct`: values in bytes and back, by formats such as `>I2s`.

use std::sync::Arc;

use mlua::{Lua, MultiValue, Table, Value};

use super::{Failure, MOST_RESULTS, Output, Settings, Words, answer, of_lua};
use crate::convert::{up_to_nul, whole};

/// Bytes of the longest integer. Those beyond the eighth are zeros.
const LONGEST: usize = 32;

pub(super) fn table(lua: &Lua, settings: &Arc<Settings>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let settings = Arc::clone(settings);
    let packing = move |lua: &Lua, values: MultiValue| {
        let mut output = Output::new(&settings);
        match pack(&Words { lua, function: "pack", values: &values }, &mut output) {
            Ok(()) => answer(lua, Ok(output.into_lua(lua)?)),
            Err(failure) => answer(lua, Err::<(), _>(failure)),
        }
    };
    table.raw_set("pack", lua.create_function(packing)?)?;
    let unpacking = |lua: &Lua, values: MultiValue| {
        answer(lua, unpack(&Words { lua, function: "unpack", values: &values }))
    };
    table.raw_set("unpack", lua.create_function(unpacking)?)?;
    let sizing = |lua: &Lua, values: MultiValue| {
        let size = size(&Words { lua, function: "size", values: &values });
        answer(lua, size.map(|size| size as f64))
    };
    table.raw_set("size", lua.create_function(sizing)?)?;
    Ok(table)
}

/// One letter of a format with its size.
#[derive(Clone, Copy)]
enum Item {
    Integer {
        bytes: usize,
        is_signed: bool,
    },
    Float,
    Double,
    /// So many bytes of a string; none: all of it, and for reading as many as the number before it.
    Chars(Option<usize>),
    /// A string that ends with a zero.
    Terminated,
    Padding,
}

/// Reads a format letter by letter, up to its first NUL byte.
struct Format<'a> {
    words: &'a Words<'a>,
    rest: &'a [u8],
    is_little: bool,
    aligned_to: usize,
}

impl<'a> Format<'a> {
    fn new(words: &'a Words<'a>, format: &'a [u8]) -> Self {
        let is_little = cfg!(target_endian = "little");
        Self { words, rest: up_to_nul(format), is_little, aligned_to: 1 }
    }

    fn number(&mut self) -> Result<Option<usize>, Failure> {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (text, rest) = self.rest.split_at(digits);
        self.rest = rest;
        if digits == 0 {
            return Ok(None);
        }
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i32>().ok());
        number.map(|number| Some(number as usize)).ok_or_else(|| "integral size overflow".to_owned())
    }

    /// The next item, and how many zeros come before it at `total` bytes.
    fn next(&mut self, total: usize) -> Result<Option<(Item, usize)>, Failure> {
        loop {
            let Some((&letter, rest)) = self.rest.split_first() else { return Ok(None) };
            self.rest = rest;
            let integer = |bytes, is_signed| Item::Integer { bytes, is_signed };
            let item = match letter {
                b'b' => integer(1, true),
                b'B' => integer(1, false),
                b'h' => integer(2, true),
                b'H' => integer(2, false),
                b'l' => integer(8, true),
                b'L' => integer(8, false),
                b'T' => integer(8, false),
                b'i' | b'I' => {
                    let bytes = self.number()?.unwrap_or(4);
                    if bytes > LONGEST {
                        return Err(format!("integral size {bytes} is larger than limit of {LONGEST}"));
                    }
                    integer(bytes, letter == b'i')
                }
                b'f' => Item::Float,
                b'd' => Item::Double,
                b's' => Item::Terminated,
                b'c' => Item::Chars(Some(self.number()?.unwrap_or(1)).filter(|count| *count > 0)),
                b'x' => Item::Padding,
                b' ' => continue,
                b'>' => {
                    self.is_little = false;
                    continue;
                }
                b'<' => {
                    self.is_little = true;
                    continue;
                }
                b'!' => {
                    let align = self.number()?.unwrap_or(8);
                    if !align.is_power_of_two() {
                        return Err(format!("alignment {align} is not a power of 2"));
                    }
                    self.aligned_to = align;
                    continue;
                }
                _ => {
                    let why = format!("invalid format option '{}'", char::from(letter));
                    return Err(self.words.bad(0, &why));
                }
            };
            let bytes = match item {
                Item::Integer { bytes, .. } => bytes,
                Item::Float => 4,
                Item::Double => 8,
                Item::Chars(_) | Item::Terminated | Item::Padding => 1,
            };
            // Of a length that is no power of 2 the library makes what this calculation makes of
            // it.
            let last = bytes.min(self.aligned_to).saturating_sub(1);
            let zeros = (last + 1).wrapping_sub(total & last) & last;
            return Ok(Some((item, zeros)));
        }
    }
}

/// Packs the words behind the format.
fn pack(words: &Words<'_>, output: &mut Output) -> Result<(), Failure> {
    let format = words.text(0)?;
    let format = format.as_bytes();
    let mut format = Format::new(words, &format);
    let mut place = 1;
    while let Some((item, zeros)) = format.next(output.len())? {
        output.put(&[0; LONGEST][..zeros])?;
        match item {
            Item::Padding => {
                output.put(&[0])?;
                continue;
            }
            Item::Integer { bytes: count, .. } => {
                let mut number = [0; LONGEST];
                number[..8].copy_from_slice(&unsigned(words.number(place)?).to_le_bytes());
                put(output, &mut number[..count], format.is_little)?;
            }
            Item::Float => put(output, &mut (words.number(place)? as f32).to_le_bytes(), format.is_little)?,
            Item::Double => put(output, &mut words.number(place)?.to_le_bytes(), format.is_little)?,
            Item::Chars(_) | Item::Terminated => {
                let text = words.text(place)?;
                let text = text.as_bytes();
                match item {
                    Item::Chars(Some(count)) => {
                        // The library counts on before it looks.
                        let part = text.get(..count);
                        output.put(part.ok_or_else(|| words.bad(place + 1, "string too short"))?)?;
                    }
                    Item::Chars(None) => output.put(&text)?,
                    _ => {
                        output.put(&text)?;
                        output.put(&[0])?;
                    }
                }
            }
        }
        place += 1;
    }
    Ok(())
}

/// The 64 bits that a processor makes of a number, whether it takes the sign or not.
fn unsigned(number: f64) -> u64 {
    const SIGN: f64 = 9_223_372_036_854_775_808.0;
    match number {
        _ if number < SIGN || number.is_nan() => whole(number) as u64,
        _ if number < 2.0 * SIGN => number as u64,
        _ => 0,
    }
}

/// Adds a number given in little-endian order.
fn put(output: &mut Output, number: &mut [u8], is_little: bool) -> Result<(), Failure> {
    if !is_little {
        number.reverse();
    }
    output.put(number)
}

fn unpack(words: &Words<'_>) -> Result<MultiValue, Failure> {
    let (format, text) = (words.text(0)?, words.text(1)?);
    let (format, text) = (format.as_bytes(), text.as_bytes());
    let from = whole(words.number_or(2, 1.0)?);
    let Some(mut at) = from.checked_sub(1).and_then(|at| usize::try_from(at).ok()) else {
        return Err(words.bad(2, "offset must be 1 or greater"));
    };
    let mut format = Format::new(words, &format);
    let too_short = || words.bad(1, "data string too short");
    let mut values: Vec<Value> = Vec::new();
    while let Some((item, zeros)) = format.next(at)? {
        if values.len() >= MOST_RESULTS {
            return Err("stack overflow (too many results)".to_owned());
        }
        at = at.checked_add(zeros).ok_or_else(too_short)?;
        let rest = text.get(at..).ok_or_else(too_short)?;
        let take = |count: usize| rest.get(..count).ok_or_else(too_short);
        let string = |bytes: &[u8]| words.lua.create_string(bytes).map(Value::String).map_err(of_lua);
        match item {
            Item::Padding => at += take(1)?.len(),
            Item::Integer { bytes, is_signed } => {
                values.push(Value::Number(integer(take(bytes)?, format.is_little, is_signed)));
                at += bytes;
            }
            Item::Float => {
                let bits = read(take(4)?, format.is_little) as u32;
                values.push(Value::Number(f64::from(f32::from_bits(bits))));
                at += 4;
            }
            Item::Double => {
                values.push(Value::Number(f64::from_bits(read(take(8)?, format.is_little))));
                at += 8;
            }
            Item::Chars(Some(count)) => {
                values.push(string(take(count)?)?);
                at += count;
            }
            Item::Chars(None) => {
                let count = values.pop().map_or(Ok(None), |value| words.lua.coerce_number(value));
                let count = count.map_err(of_lua)?.ok_or("format 'c0' needs a previous size")?;
                let count = usize::try_from(whole(count)).map_err(|_| too_short())?;
                values.push(string(take(count)?)?);
                at += count;
            }
            Item::Terminated => {
                let end = rest.iter().position(|byte| *byte == 0);
                let end = end.ok_or_else(|| "unfinished string in data".to_owned())?;
                values.push(string(&rest[..end])?);
                at += end + 1;
            }
        }
    }
    values.push(Value::Number((at + 1) as f64));
    Ok(MultiValue::from_vec(values))
}

/// An integer of any length, of which the last eight bytes count.
fn integer(bytes: &[u8], is_little: bool, is_signed: bool) -> f64 {
    let number = read(bytes, is_little);
    let unused = 64_u32.saturating_sub(8 * bytes.len() as u32);
    match bytes.len() {
        0 => 0.0,
        _ if is_signed => (((number << unused) as i64) >> unused) as f64,
        _ => number as f64,
    }
}

fn read(bytes: &[u8], is_little: bool) -> u64 {
    let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    if is_little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) }
}

fn size(words: &Words<'_>) -> Result<usize, Failure> {
    let format = words.text(0)?;
    let format = format.as_bytes();
    let mut format = Format::new(words, &format);
    let mut total = 0_usize;
    while let Some((item, zeros)) = format.next(total)? {
        let bytes = match item {
            Item::Integer { bytes, .. } => bytes,
            Item::Float => 4,
            Item::Double => 8,
            Item::Padding => 1,
            Item::Chars(Some(count)) => count,
            Item::Chars(None) => return Err(words.bad(0, "option 'c0' has no fixed size")),
            Item::Terminated => return Err(words.bad(0, "option 's' has no fixed size")),
        };
        total = total.saturating_add(zeros).saturating_add(bytes);
    }
    Ok(total)
}
