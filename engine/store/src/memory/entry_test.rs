use super::*;

fn filled(shape: Shape, contents: &Contents<'_>) -> (Vec<u64>, Entry) {
    let mut memory = vec![0xEEEE_EEEE_EEEE_EEEE; shape.len() / UNIT];
    let at = NonNull::from(memory.as_mut_slice()).cast();
    // SAFETY: the memory is as long as the shape says, aligned, and this test's own.
    let entry = unsafe { Entry::write(at, shape, contents, false) };
    (memory, entry)
}

#[test]
fn what_is_written_is_read() {
    let text = vec![7; 70_000];
    for (key_len, value_len) in
        [(0, 0), (1, 0), (16, 64), (255, 65_535), (256, 1), (1, 65_536), (65_536, 65_536)]
    {
        for expiry in [None, Some(1_700_000_000_123)] {
            for spare in [0, 1, 500] {
                let (key, value) = (&text[..key_len], &text[..value_len]);
                let pieces = value.split_at(value_len / 3);
                let contents = Contents { key, value: [pieces.0, pieces.1], expiry, stamp: 0xABCD_EF01 };
                let shape = contents.shape(spare);
                let (_memory, entry) = filled(shape, &contents);
                // SAFETY: the memory is there.
                unsafe {
                    assert_eq!(entry.shape(), shape);
                    assert_eq!((entry.key(), entry.value(), entry.stamp()), (key, value, 0xABCD_EF01));
                    if let Some(unix_ms) = expiry {
                        assert_eq!(entry.expiry(), unix_ms);
                    }
                    assert!(!entry.is_dead() && !entry.is_mapped());
                    entry.mark_dead();
                    assert!(entry.is_dead());
                    assert_eq!(entry.shape(), shape, "a dead entry is as long as it was");
                }
            }
        }
    }
}

#[test]
fn a_key_of_16_and_a_value_of_64_bytes_take_88() {
    assert_eq!(Shape::new(16, 64, false, 0).len(), 88);
    assert_eq!(Shape::new(16, 64, true, 0).len(), 96);
    assert_eq!(Shape::new(16, 64, false, 1).len(), 104);
}

#[test]
fn another_value_in_place_keeps_length_key_and_expiry() {
    for (old_len, new_len, had_expiry, with_expiry, fits) in [
        (64, 64, false, false, true),
        (64, 57, false, false, true),
        (64, 56, false, false, true), // with room for an expiry that it does not have
        (64, 48, false, false, false),
        (64, 65, false, false, false),
        (64, 56, false, true, true),
        (64, 64, false, true, false),
        (64, 64, true, true, true),
        (64, 64, true, false, true),
        (64, 72, true, false, true), // over the place of the expiry that is cleared
        (64, 73, true, false, false),
        (65_535, 65_536, false, false, false),
    ] {
        let (old, new) = (vec![1; old_len], vec![2; new_len]);
        let contents =
            Contents { key: &[9; 16], value: [&old, &[]], expiry: had_expiry.then_some(5), stamp: 3 };
        let shape = contents.shape(0);
        let (_memory, entry) = filled(shape, &contents);
        let expiry = with_expiry.then_some(77);
        let changed = shape.with_value(new_len, with_expiry);
        assert_eq!(changed.is_some(), fits, "{old_len} {new_len} {had_expiry} {with_expiry}");
        let Some(changed) = changed else { continue };
        assert_eq!(changed.len(), shape.len());
        // SAFETY: the memory is there, and the shape comes from `with_value`.
        unsafe {
            entry.set_value(changed, &new, expiry);
            assert_eq!(entry.shape(), changed);
            assert_eq!((entry.key(), entry.value(), entry.stamp()), (&[9; 16][..], &new[..], 3));
            if with_expiry {
                assert_eq!(entry.expiry(), 77);
            }
        }
    }
}

#[test]
fn a_value_grows_into_its_spare_bytes_and_no_further() {
    let contents = Contents { key: b"key", value: [b"abc", b""], expiry: Some(1), stamp: 0 };
    let shape = contents.shape(10);
    let (_memory, entry) = filled(shape, &contents);
    let room = shape.len() - LONG_HEADER - 3 - EXPIRY_BYTES;
    assert!(room >= 13);
    assert_eq!(shape.with_value(room + 1, true), None);
    let grown = shape.with_value(room, true).unwrap();
    // SAFETY: as above.
    unsafe {
        entry.extend_value(grown, &vec![b'x'; room - 3], Some(1));
        assert_eq!(entry.value(), [&b"abc"[..], &vec![b'x'; room - 3]].concat());
        assert_eq!((entry.key(), entry.expiry()), (&b"key"[..], 1));
    }
}
