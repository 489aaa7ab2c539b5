use super::*;

#[test]
fn every_way_to_read_finds_the_same_and_ends_where_the_file_does() {
    // Not on a file system in memory: others take the flags of a read.
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let path = folder.path().join("file");
    let bytes: Vec<u8> = (0..20_000_u32).map(|n| (n % 251) as u8).collect();
    fs::write(&path, &bytes).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    let file = Disk.open(&path).unwrap();
    for (offset, len) in [(0, 1), (4_000, 1_592), (8_191, 4_097), (19_000, 1_000), (19_999, 500), (20_000, 7)]
    {
        let expected = &bytes[offset..(offset + len).min(bytes.len())];
        let mut found = vec![0; len];
        let count = file.read_once_at(&mut found, offset as u64).unwrap();
        assert_eq!(&found[..count], expected, "once, {offset}");
        let mut found = vec![0; len];
        let count = file.read_at(&mut found, offset as u64).unwrap();
        assert_eq!(&found[..count], expected, "{offset}");
        let mut found = vec![0; len];
        match file.read_at_now(&mut found, offset as u64) {
            Ok(count) => assert_eq!(&found[..count], expected, "now, {offset}"),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
    }
}
