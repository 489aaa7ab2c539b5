//! `struct`: values in bytes and back, by formats such as `>I2s`.

use mlua::{Lua, LuaString, MultiValue, Table, Value};

use super::{Failure, answer};
use crate::convert::whole;

/// The most that values are aligned to.
const MOST_ALIGNED: usize = 16;

pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set(
        "pack",
        lua.create_function(|lua, (format, values): (LuaString, MultiValue)| {
            let packed = pack(&format.as_bytes(), &values);
            answer(lua, packed.map(|bytes| lua.create_string(&bytes).ok()))
        })?,
    )?;
    table.raw_set(
        "unpack",
        lua.create_function(|lua, (format, text, from): (LuaString, LuaString, Option<i64>)| {
            answer(lua, unpack(lua, &format.as_bytes(), &text.as_bytes(), from.unwrap_or(1)))
        })?,
    )?;
    table.raw_set(
        "size",
        lua.create_function(|lua, format: LuaString| {
            answer(lua, size(&format.as_bytes()).map(|size| size as f64))
        })?,
    )?;
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

/// Reads a format letter by letter.
struct Format<'a> {
    rest: &'a [u8],
    is_little: bool,
    aligned_to: usize,
}

impl<'a> Format<'a> {
    fn new(format: &'a [u8]) -> Self {
        Self { rest: format, is_little: cfg!(target_endian = "little"), aligned_to: 1 }
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
                    if bytes > 8 {
                        return Err(format!("integral size {bytes} is larger than limit of 8"));
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
                    if align == 0 || !align.is_power_of_two() || align > MOST_ALIGNED {
                        return Err("alignment is not a power of 2".to_owned());
                    }
                    self.aligned_to = align;
                    continue;
                }
                _ => return Err(format!("invalid format option '{}'", char::from(letter))),
            };
            let bytes = match item {
                Item::Integer { bytes, .. } => bytes,
                Item::Float => 4,
                Item::Double => 8,
                Item::Chars(_) | Item::Terminated | Item::Padding => 1,
            };
            let align = bytes.min(self.aligned_to).max(1);
            let zeros = if align > 1 { total.next_multiple_of(align) - total } else { 0 };
            return Ok(Some((item, zeros)));
        }
    }
}

fn pack(format: &[u8], values: &MultiValue) -> Result<Vec<u8>, Failure> {
    let mut format = Format::new(format);
    let mut bytes = Vec::new();
    let mut place = 0;
    let bad =
        |place: usize, wanted: &str| format!("bad argument #{} to 'pack' ({wanted} expected)", place + 2);
    while let Some((item, zeros)) = format.next(bytes.len())? {
        bytes.resize(bytes.len() + zeros, 0);
        if matches!(item, Item::Padding) {
            bytes.push(0);
            continue;
        }
        let number = || match values.get(place) {
            Some(Value::Integer(number)) => Ok(*number as f64),
            Some(Value::Number(number)) => Ok(*number),
            _ => Err(bad(place, "number")),
        };
        match item {
            Item::Integer { bytes: count, .. } => {
                put(&mut bytes, &whole(number()?).to_le_bytes()[..count], format.is_little);
            }
            Item::Float => put(&mut bytes, &(number()? as f32).to_le_bytes(), format.is_little),
            Item::Double => put(&mut bytes, &number()?.to_le_bytes(), format.is_little),
            Item::Chars(_) | Item::Terminated => {
                let Some(Value::String(text)) = values.get(place) else { return Err(bad(place, "string")) };
                let text = text.as_bytes();
                match item {
                    Item::Chars(Some(count)) if text.len() < count => {
                        return Err(format!("bad argument #{} to 'pack' (string too short)", place + 2));
                    }
                    Item::Chars(Some(count)) => bytes.extend_from_slice(&text[..count]),
                    Item::Chars(None) => bytes.extend_from_slice(&text),
                    _ => {
                        bytes.extend_from_slice(&text);
                        bytes.push(0);
                    }
                }
            }
            Item::Padding => {}
        }
        place += 1;
    }
    Ok(bytes)
}

/// Adds a number given in little-endian order.
fn put(bytes: &mut Vec<u8>, number: &[u8], is_little: bool) {
    let start = bytes.len();
    bytes.extend_from_slice(number);
    if !is_little {
        bytes[start..].reverse();
    }
}

fn unpack(lua: &Lua, format: &[u8], text: &[u8], from: i64) -> Result<MultiValue, Failure> {
    let mut format = Format::new(format);
    let too_short = || "data string too short".to_owned();
    let mut at = usize::try_from(from - 1).map_err(|_| "offset must be 1 or greater".to_owned())?;
    let mut values: Vec<Value> = Vec::new();
    while let Some((item, zeros)) = format.next(at)? {
        at = at.checked_add(zeros).ok_or_else(too_short)?;
        let rest = text.get(at..).ok_or_else(too_short)?;
        let take = |count: usize| rest.get(..count).ok_or_else(too_short);
        let string =
            |bytes: &[u8]| lua.create_string(bytes).map(Value::String).map_err(|error| error.to_string());
        match item {
            Item::Padding => at += take(1)?.len(),
            Item::Integer { bytes, is_signed } => {
                let number = read(take(bytes)?, format.is_little);
                let unused = 64 - 8 * bytes as u32;
                let number = match bytes {
                    0 => 0.0,
                    _ if is_signed => (((number << unused) as i64) >> unused) as f64,
                    _ => number as f64,
                };
                values.push(Value::Number(number));
                at += bytes;
            }
            Item::Float => {
                values
                    .push(Value::Number(f64::from(f32::from_bits(read(take(4)?, format.is_little) as u32))));
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
                let count = match values.pop() {
                    Some(Value::Number(number)) if number >= 0.0 => number as usize,
                    _ => return Err("format 'c0' needs a previous size".to_owned()),
                };
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

fn read(bytes: &[u8], is_little: bool) -> u64 {
    let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    if is_little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) }
}

fn size(format: &[u8]) -> Result<usize, Failure> {
    let mut format = Format::new(format);
    let mut total = 0;
    while let Some((item, zeros)) = format.next(total)? {
        total += zeros
            + match item {
                Item::Integer { bytes, .. } => bytes,
                Item::Float => 4,
                Item::Double => 8,
                Item::Padding => 1,
                Item::Chars(Some(count)) => count,
                Item::Chars(None) => return Err("variable-length format".to_owned()),
                Item::Terminated => return Err("variable-size format".to_owned()),
            };
    }
    Ok(total)
}
