//! Compressed files of a record: zstd, level 19, with a bound on what a file may decompress to.

use super::read::ReadError;
use std::io::{self, Read as _};
use std::path::Path;

/// Ending of the compressed files.
pub(super) const ENDING: &str = ".zst";
/// A record is written once and read for years: the slowest level without a larger window.
const LEVEL: i32 = 19;
/// The largest record so far decompresses to 12 MB; a file that claims more than this is no record.
pub(super) const LIMIT_BYTES: u64 = 256 * 1024 * 1024;

/// The bytes of a file as they are stored: compressed where its name ends so.
pub(super) fn stored(name: &str, content: Vec<u8>) -> io::Result<Vec<u8>> {
    if name.ends_with(ENDING) { zstd::bulk::compress(&content, LEVEL) } else { Ok(content) }
}

/// The content of a stored file: decompressed where its name ends so.
pub(super) fn content(path: &Path, stored: Vec<u8>) -> Result<Vec<u8>, ReadError> {
    content_within(LIMIT_BYTES, path, stored)
}

fn content_within(limit: u64, path: &Path, stored: Vec<u8>) -> Result<Vec<u8>, ReadError> {
    if !path.as_os_str().as_encoded_bytes().ends_with(ENDING.as_bytes()) {
        return Ok(stored);
    }
    let broken = |source| ReadError::Compressed { path: path.to_path_buf(), source };
    let decoder = zstd::stream::read::Decoder::with_buffer(stored.as_slice()).map_err(broken)?;
    let mut content = Vec::new();
    // One byte more than the limit tells a file that ends there from one that goes on.
    decoder.take(limit + 1).read_to_end(&mut content).map_err(broken)?;
    if content.len() as u64 > limit {
        return Err(ReadError::TooLarge { path: path.to_path_buf(), limit });
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PATH: &str = "x/wire-single.json.zst";

    #[test]
    fn a_decompression_bomb_ends_at_the_limit() {
        // 300 MiB of zeros in a few kilobytes, written as a stream: the frame does not say how long it is.
        let mut bomb = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        let zeros = vec![0; 1024 * 1024];
        for _ in 0..300 {
            io::Write::write_all(&mut bomb, &zeros).unwrap();
        }
        let bomb = bomb.finish().unwrap();
        assert!(bomb.len() < 100_000, "{}", bomb.len());
        let said = content(Path::new(PATH), bomb).unwrap_err().to_string();
        assert!(said.contains("wire-single.json.zst: decompresses to more than 256 MiB"), "{said}");
    }

    #[test]
    fn the_limit_itself_is_no_bomb() {
        let packed = stored(PATH, vec![7; 1000]).unwrap();
        assert_eq!(content_within(1000, Path::new(PATH), packed.clone()).unwrap().len(), 1000);
        assert!(matches!(
            content_within(999, Path::new(PATH), packed),
            Err(ReadError::TooLarge { limit: 999, .. })
        ));
    }

    #[test]
    fn a_frame_that_is_cut_anywhere_is_no_record() {
        let whole = stored(PATH, b"{\"schema\": \"plumbkv.scenario\"}\n".repeat(50)).unwrap();
        for length in 1..whole.len() {
            let cut = whole[..length].to_vec();
            let said = content(Path::new(PATH), cut).unwrap_err().to_string();
            assert!(said.contains("wire-single.json.zst: not a whole zstd file"), "{length}: {said}");
        }
        for other in [&b"{}"[..], b"\x1f\x8b\x08\0", &[0xff; 64]] {
            assert!(matches!(content(Path::new(PATH), other.to_vec()), Err(ReadError::Compressed { .. })));
        }
    }

    #[test]
    fn a_plain_file_is_left_as_it_is() {
        let text = b"{}\n".to_vec();
        assert_eq!(stored("run.json", text.clone()).unwrap(), text);
        assert_eq!(content(Path::new("run.json"), text.clone()).unwrap(), text);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..5000)) {
            let packed = stored(PATH, bytes.clone()).unwrap();
            prop_assert_eq!(content(Path::new(PATH), packed).unwrap(), bytes);
        }

        #[test]
        fn bytes_of_others_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut framed = vec![0x28, 0xb5, 0x2f, 0xfd];
            framed.extend(bytes);
            let _ = content_within(1 << 20, Path::new(PATH), framed);
        }
    }
}
