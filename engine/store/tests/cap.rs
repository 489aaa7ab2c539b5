//! Does the cap hold, whatever is written? The accounted bytes never pass it, never drift from a fresh count, and what
//! cannot fit is refused without an eviction.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use plumbkv::{
    Condition, Database, Error, ExpireCondition, Expiry, Options, Policy, RenameOptions, SetOptions,
};
use proptest::prelude::*;

const MIB: u64 = 1024 * 1024;

fn open(cap: u64) -> Database {
    Database::open(Options::memory(cap).seed(cap)).unwrap()
}

fn check(db: &Database) {
    let stats = db.stats();
    assert!(stats.accounted_bytes <= stats.cap_bytes, "{stats:?}");
    assert_eq!(db.recount_entry_bytes(), stats.entry_bytes);
}

#[test]
fn shards_follow_the_cap() {
    for (cap, shards) in [
        (1, 1),
        (256 * 1024, 1),
        (512 * 1024 - 1, 1),
        (512 * 1024, 2),
        (2 * MIB, 8),
        (3 * MIB, 8),
        (64 * MIB, 256),
        (1024 * MIB, 4096),
        (64 * 1024 * MIB, 4096),
        (u64::MAX, 4096),
    ] {
        assert_eq!(open(cap).stats().shards, shards, "a cap of {cap} bytes");
    }
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let option_of = |options: Options| match Database::open(options) {
        Err(Error::InvalidOption { option, .. }) => option,
        other => panic!("{:?}", other.err()),
    };
    assert_eq!(option_of(Options::memory(0)), "cap_bytes");
    assert_eq!(option_of(Options::memory(MIB).samples(0)), "samples");
    assert_eq!(option_of(Options::memory(MIB).samples(65)), "samples");
    for shards in [0, 3, 8192] {
        assert_eq!(option_of(Options::memory(MIB).shards(Some(shards))), "shards");
    }
    assert!(
        matches!("lru".parse::<Policy>(), Err(Error::InvalidOption { reason, .. }) if reason.contains("no eviction policy"))
    );
    for policy in Policy::ALL {
        assert_eq!(policy.to_string().to_uppercase().parse::<Policy>(), Ok(policy));
    }
}

#[test]
fn cap_holds_for_4000_values_of_1_kib_in_2_mib() {
    let db = open(2 * MIB);
    for number in 1..=4000u32 {
        db.set(format!("key:{number}").as_bytes(), &[b'v'; 1024]).unwrap();
        assert!(db.stats().accounted_bytes <= 2 * MIB);
    }
    check(&db);
    let stats = db.stats();
    // 1,040 bytes an entry: 2,016 would fill the cap without any table.
    assert!((1830..=2010).contains(&stats.keys), "{stats:?}");
    assert!(stats.keys * (8 + 1024) >= 2 * MIB * 9 / 10, "{stats:?}");
    assert_eq!(stats.evicted + stats.keys, 4000);
}

#[test]
fn a_value_that_cannot_fit_is_refused_and_nothing_is_evicted() {
    let db = open(2 * MIB);
    for number in 0..1500u32 {
        db.set(&number.to_be_bytes(), &[1; 1024]).unwrap();
    }
    let before = db.stats();
    assert_eq!(before.evicted, 0);
    let big = vec![0; 3 * MIB as usize];
    let too_large = |result: Result<(), Error>| {
        assert!(
            matches!(result, Err(Error::TooLargeForCap { needed, cap }) if needed > cap && cap == 2 * MIB)
        )
    };
    too_large(db.set(b"big", &big));
    too_large(db.set(&7u32.to_be_bytes(), &big));
    too_large(db.set_many(&[(b"small", b"1"), (b"big", &big)]));
    too_large(db.set_many(&[(b"half", &big[..1_100_000]), (b"other", &big[..1_100_000])]));
    too_large(db.append(b"big", &big).map(drop));
    too_large(db.append(&7u32.to_be_bytes(), &big).map(drop));
    let after = db.stats();
    assert_eq!((after.keys, after.evicted, after.refused), (1500, 0, 6));
    assert_eq!(
        db.get(&7u32.to_be_bytes()).unwrap(),
        Some(vec![1; 1024]),
        "a refused overwrite leaves the old value"
    );
    assert_eq!(db.get(b"small").unwrap(), None, "set_many stores all or nothing");
    check(&db);
}

#[test]
fn the_largest_value_that_fits_is_stored_and_the_next_is_refused() {
    let db = open(2 * MIB);
    for number in 0..4000u32 {
        db.set(&number.to_be_bytes(), &[1; 1024]).unwrap();
    }
    // Find the edge on another database of the same size, so that this one is full when it gets there.
    let fits = |len: usize| open(2 * MIB).set(b"big", &vec![0; len]).is_ok();
    let (mut low, mut high) = (1_000_000, 2 * MIB as usize);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if fits(middle) { low = middle } else { high = middle }
    }
    // Four segments of 32 KiB are kept for what is small, and its slot lies in a page.
    assert!(low > 1_956_000, "an almost empty store of 2 MiB should take {low} bytes and more");
    let evicted = db.stats().evicted;
    assert!(matches!(db.set(b"big", &vec![0; high]), Err(Error::TooLargeForCap { .. })));
    assert_eq!(db.stats().evicted, evicted);
    db.set(b"big", &vec![0; low]).unwrap();
    assert_eq!(db.value_len(b"big").unwrap(), low);
    check(&db);
}

#[test]
fn overwriting_at_the_cap_evicts_neither_the_key_nor_drifts() {
    for policy in [Policy::AllkeysLru, Policy::AllkeysRandom] {
        let db = Database::open(Options::memory(MIB).policy(policy).seed(3)).unwrap();
        for number in 0..3000u32 {
            db.set(&number.to_be_bytes(), &[1; 512]).unwrap();
        }
        let mut rng = fastrand::Rng::with_seed(9);
        for _ in 0..5000 {
            let number = rng.u32(0..3000);
            let was_there = db.exists(&number.to_be_bytes()).unwrap();
            let previous = db
                .set_with(
                    &number.to_be_bytes(),
                    &vec![2; rng.usize(0..4000)],
                    SetOptions::new().condition(Condition::IfPresent).want_previous(true),
                )
                .unwrap();
            assert_eq!(previous.written, was_there);
            assert_eq!(previous.previous.is_some(), was_there);
            assert_eq!(db.exists(&number.to_be_bytes()).unwrap(), was_there, "{policy}");
        }
        check(&db);
        let steady = db.stats();
        assert!(steady.accounted_bytes > steady.cap_bytes * 9 / 10, "{steady:?}");
    }
}

#[test]
fn same_size_overwrites_at_the_cap_evict_nothing() {
    let db = open(MIB);
    let mut number = 0u32;
    while db.stats().evicted == 0 {
        number += 1;
        db.set(&number.to_be_bytes(), &[1; 700]).unwrap();
    }
    let before = db.stats().evicted;
    for _ in 0..3 {
        for known in 1..=number {
            db.set_with(&known.to_be_bytes(), &[2; 700], SetOptions::new().condition(Condition::IfPresent))
                .unwrap();
        }
    }
    assert_eq!(db.stats().evicted, before);
    check(&db);
}

#[test]
fn without_eviction_a_full_store_refuses_and_keeps_what_it_has() {
    let db = Database::open(Options::memory(MIB).policy(Policy::NoEviction)).unwrap();
    let mut stored = 0u32;
    let refusal = loop {
        match db.set(&stored.to_be_bytes(), &[1; 1000]) {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refusal, Error::OutOfMemory);
    let small_still_fits =
        (0..100u32).take_while(|n| db.set(&[b"s", &n.to_be_bytes()[..]].concat(), b"").is_ok()).count();
    assert!(small_still_fits < 100);
    assert_eq!(db.len(), u64::from(stored) + small_still_fits as u64);
    assert_eq!(db.stats().evicted, 0);
    // Reads, deletes and writes that take nothing more go on.
    db.set(&0u32.to_be_bytes(), &[2; 1000]).unwrap();
    assert!(db.delete(&1u32.to_be_bytes()).unwrap());
    db.set(b"new!", &[1; 1000]).unwrap();
    check(&db);
}

#[test]
fn volatile_policies_take_only_keys_that_expire() {
    for policy in [Policy::VolatileLru, Policy::VolatileRandom, Policy::VolatileTtl] {
        let db = Database::open(Options::memory(MIB).policy(policy).seed(5)).unwrap();
        let far = u64::MAX / 2;
        for number in 0..500u32 {
            db.set(&number.to_be_bytes(), &[1; 1000]).unwrap();
        }
        let mut refused = 0;
        for number in 500..2000u32 {
            let options = SetOptions::new().expiry(Expiry::At(far + u64::from(number)));
            refused += u32::from(db.set_with(&number.to_be_bytes(), &[1; 1000], options).is_err());
        }
        assert_eq!(refused, 0, "{policy}");
        assert!((0..500u32).all(|number| db.exists(&number.to_be_bytes()).unwrap()), "{policy}");
        assert!(db.stats().evicted > 900, "{policy}");
        check(&db);
        for number in 500..2000u32 {
            db.persist(&number.to_be_bytes()).unwrap();
        }
        assert_eq!(
            db.set(b"another", &[1; 100_000]),
            Err(Error::OutOfMemory),
            "{policy}: nothing left to evict"
        );
    }
}

#[test]
fn volatile_ttl_takes_what_ends_first() {
    let db = Database::open(Options::memory(MIB).policy(Policy::VolatileTtl).seed(5)).unwrap();
    // Written in the opposite order: the access order must not matter.
    for number in (0..4000u64).rev() {
        let options = SetOptions::new().expiry(Expiry::At(u64::MAX / 2 + number));
        db.set_with(&number.to_be_bytes(), &[1; 100], options).unwrap();
        db.set_with(
            &(10_000 + number).to_be_bytes(),
            &[1; 100],
            SetOptions::new().expiry(Expiry::At(u64::MAX - 1)),
        )
        .unwrap();
    }
    let alive = |range: std::ops::Range<u64>| {
        range.filter(|number| db.exists(&number.to_be_bytes()).unwrap()).count()
    };
    let (late, early) = (alive(10_000..14_000), alive(0..4000));
    // About 1,000 of 8,000 must go. By five samples a late one is taken where no early one is among them, less than one time in ten;
    // at random half of those that go would be late.
    let (late_gone, early_gone) = (4000 - late, 4000 - early);
    assert!(
        early_gone > 700 && late_gone * 10 < early_gone,
        "{late_gone} that end late and {early_gone} that end early are gone"
    );
}

#[test]
fn a_lower_cap_evicts_at_once_and_a_higher_one_gives_room() {
    let db = open(8 * MIB);
    for number in 0..4000u32 {
        db.set(&number.to_be_bytes(), &[1; 1024]).unwrap();
    }
    assert_eq!(db.stats().evicted, 0);
    db.set_cap(2 * MIB).unwrap();
    check(&db);
    assert!(db.stats().keys > 1600);
    db.set_cap(16 * MIB).unwrap();
    for number in 0..4000u32 {
        db.set(&number.to_be_bytes(), &[1; 1024]).unwrap();
    }
    assert_eq!(db.len(), 4000);
    db.set_policy(Policy::NoEviction).unwrap();
    db.set_cap(1).unwrap();
    assert_eq!(db.len(), 4000, "noeviction evicts nothing");
    assert!(matches!(db.set(b"x", b"y"), Err(Error::TooLargeForCap { .. })));
    assert!(db.set_cap(0).is_err());
}

#[test]
fn tables_give_their_memory_back() {
    let db = open(64 * MIB);
    let empty = db.stats().accounted_bytes;
    for number in 0..200_000u32 {
        db.set(&number.to_be_bytes(), b"small").unwrap();
    }
    let evicted = db.stats().evicted;
    assert_eq!(evicted, 0);
    // The store full of small entries must become one of few large entries without losing its cap to empty slots.
    for number in 0..500u32 {
        db.set(&number.to_be_bytes(), &vec![1; 200_000]).unwrap();
    }
    check(&db);
    assert!((325..=340).contains(&db.len()), "64 MiB hold 334 of 200,704 bytes, not {}", db.len());
    for number in 0..200_000u32 {
        db.delete(&number.to_be_bytes()).unwrap();
    }
    while db.maintain(std::time::Duration::from_millis(1)) {}
    assert_eq!(db.stats().entry_bytes, 0);
    assert!(db.stats().accounted_bytes - empty < MIB, "{:?}", db.stats());
}

/// Around the smallest cap that holds them all, pairs are either stored or refused as too large: there is nothing
/// else in the store whose eviction could make room.
#[test]
fn pairs_set_together_fit_or_are_too_large() {
    let keys: Vec<[u8; 2]> = (0..40u16).map(u16::to_be_bytes).collect();
    let pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (&key[..], &[7; 100][..])).collect();
    let mut refused = 0;
    let mut stored = 0;
    for cap in (12_000..40_000).step_by(64) {
        let db = Database::open(Options::memory(cap).seed(1).shards(Some(1))).unwrap();
        match db.set_many(&pairs) {
            Ok(()) => stored += 1,
            Err(Error::TooLargeForCap { .. }) => {
                assert_eq!(stored, 0, "refused at {cap} bytes, but stored in fewer");
                refused += 1;
            }
            other => panic!("a cap of {cap} bytes gave {other:?}"),
        }
        check(&db);
    }
    assert!(refused > 10 && stored > 10, "{refused} refused, {stored} stored");
}

#[test]
fn an_emptied_store_gives_its_memory_back_piece_by_piece() {
    let db = open(64 * MIB);
    let empty = db.stats().accounted_bytes;
    for round in 0..3 {
        for number in 0..100_000u32 {
            db.set(&number.to_be_bytes(), &[1; 200]).unwrap();
        }
        (0..20u32).for_each(|number| db.set(&number.to_le_bytes(), &vec![1; 300_000]).unwrap());
        // Zero is the same in both orders of bytes.
        assert_eq!(db.len(), 100_019);
        db.clear().unwrap();
        assert_eq!((db.len(), db.stats().entry_bytes), (0, 0));
        assert_eq!(db.get(&7u32.to_be_bytes()).unwrap(), None);
        check(&db);
        while db.maintain(std::time::Duration::from_millis(1)) {}
        let kept = db.stats().accounted_bytes - empty;
        assert!(kept < MIB, "{kept} bytes are kept after round {round}");
    }
}

#[test]
fn what_the_program_holds_counts_and_evicts() {
    let db = open(2 * MIB);
    for number in 0..3000u32 {
        db.set(&number.to_be_bytes(), &[1; 1024]).unwrap();
    }
    let full = db.stats();
    db.reserve(MIB).unwrap();
    let half = db.stats();
    assert_eq!(half.reserved_bytes, MIB);
    assert!(half.accounted_bytes <= 2 * MIB && half.keys < full.keys * 6 / 10, "{half:?}");
    assert!(matches!(db.reserve(MIB), Err(Error::TooLargeForCap { .. })));
    assert!(matches!(db.set(b"big", &vec![0; MIB as usize]), Err(Error::TooLargeForCap { .. })));
    assert_eq!(db.stats().keys, half.keys, "nothing is evicted for what cannot fit");
    db.release(MIB);
    for number in 0..3000u32 {
        db.set(&number.to_be_bytes(), &[1; 1024]).unwrap();
    }
    assert!(db.stats().keys.abs_diff(full.keys) < full.keys / 50, "{} after {}", db.stats().keys, full.keys);
    check(&db);

    let db = Database::open(Options::memory(2 * MIB).policy(Policy::NoEviction)).unwrap();
    while db.set(&db.len().to_be_bytes(), &[1; 1000]).is_ok() {}
    assert_eq!(db.reserve(100_000), Err(Error::OutOfMemory));
    assert_eq!(db.stats().reserved_bytes, 0);
}

#[test]
fn a_large_value_changes_its_size_where_it_is() {
    let db = open(2 * MIB);
    let letters = |len: usize| (0..len).map(|at| (at / 7) as u8).collect::<Vec<u8>>();
    // Two of them side by side would not fit.
    for len in [1_500_000, 1_200_000, 100_000, 1_950_000, 40_000, 1_000, 1_500_000] {
        let expiry = if len % 3_000 == 0 { Expiry::At(u64::MAX / 2) } else { Expiry::Clear };
        db.set_with(b"key", &letters(len), SetOptions::new().expiry(expiry)).unwrap();
        assert_eq!(db.get(b"key").unwrap(), Some(letters(len)), "{len} bytes");
        assert!(!db.expire_at(b"key", 1 << 50, ExpireCondition::IfGreater).unwrap(), "{len} bytes");
        check(&db);
    }
    db.persist(b"key").unwrap();
    db.append(b"key", &letters(400_000)).unwrap();
    assert_eq!(db.get(b"key").unwrap(), Some([letters(1_500_000), letters(400_000)].concat()));
    assert!(matches!(db.append(b"key", &letters(400_000)), Err(Error::TooLargeForCap { .. })));
    assert_eq!(db.value_len(b"key").unwrap(), 1_900_000);
    check(&db);
}

#[derive(Debug, Clone)]
enum Call {
    Set(u16, usize),
    SetMany(Vec<(u16, usize)>),
    Append(u16, usize),
    Expire(u16),
    Rename(u16, u16),
    Copy(u16, u16, bool),
    Delete(u16),
    Cap(u64),
}

fn call() -> impl Strategy<Value = Call> {
    let len = || prop_oneof![8 => 0..3000usize, 1 => 0..300_000usize];
    let key = || 0..400u16;
    prop_oneof![
        10 => (key(), len()).prop_map(|(k, l)| Call::Set(k, l)),
        2 => proptest::collection::vec((key(), len()), 1..20).prop_map(Call::SetMany),
        6 => (key(), len()).prop_map(|(k, l)| Call::Append(k, l)),
        2 => key().prop_map(Call::Expire),
        2 => (key(), key()).prop_map(|(a, b)| Call::Rename(a, b)),
        2 => (key(), key(), any::<bool>()).prop_map(|(a, b, keep)| Call::Copy(a, b, keep)),
        2 => key().prop_map(Call::Delete),
        1 => (200_000..1_000_000u64).prop_map(Call::Cap),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_count_never_drifts_and_never_passes_the_cap(calls in proptest::collection::vec(call(), 1..300), seed in any::<u64>(), shards in 0..4u32, policy in 0..3usize) {
        let policy = [Policy::AllkeysLru, Policy::AllkeysLfu, Policy::AllkeysS3Fifo][policy];
        let options = Options::memory(600_000).policy(policy).seed(seed).shards(Some(1usize << shards));
        let db = Database::open(options).unwrap();
        let value = vec![7; 300_000];
        for call in calls {
            let result = match call.clone() {
                Call::Set(k, len) => db.set(&k.to_be_bytes(), &value[..len]),
                Call::SetMany(pairs) => {
                    let keys: Vec<_> = pairs.iter().map(|(k, _)| k.to_be_bytes()).collect();
                    let pairs: Vec<(&[u8], &[u8])> = keys.iter().zip(&pairs).map(|(k, (_, len))| (&k[..], &value[..*len])).collect();
                    db.set_many(&pairs)
                }
                Call::Append(k, len) => db.append(&k.to_be_bytes(), &value[..len]).map(drop),
                Call::Expire(k) => db.expire_at(&k.to_be_bytes(), u64::MAX, ExpireCondition::Always).map(drop),
                Call::Rename(a, b) => db.rename(&a.to_be_bytes(), &b.to_be_bytes()).map(drop),
                Call::Copy(a, b, keep_target) => {
                    let options = RenameOptions { keep_source: true, keep_target };
                    db.rename_with(&a.to_be_bytes(), &b.to_be_bytes(), options).map(drop)
                }
                Call::Delete(k) => db.delete(&k.to_be_bytes()).map(drop),
                Call::Cap(cap) => db.set_cap(cap),
            };
            prop_assert!(matches!(result, Ok(()) | Err(Error::TooLargeForCap { .. })), "{:?} gave {:?}", call, result);
            let stats = db.stats();
            prop_assert!(stats.accounted_bytes <= stats.cap_bytes);
            prop_assert_eq!(db.recount_entry_bytes(), stats.entry_bytes);
            match (call, result) {
                (Call::Set(k, len), Ok(())) => prop_assert_eq!(db.value_len(&k.to_be_bytes()).unwrap(), len),
                (Call::SetMany(pairs), Ok(())) => {
                    for (k, _) in pairs {
                        prop_assert!(db.exists(&k.to_be_bytes()).unwrap());
                    }
                }
                _ => {}
            }
        }
    }
}

/// Memory of a large value goes back in pieces; until it has, nothing may be evicted for want of it.
#[test]
fn what_is_deleted_or_cleared_makes_room_before_anything_is_evicted() {
    let db = open(16 * MIB);
    let fill =
        |from: u32| (from..from + 6000).for_each(|number| db.set(&number.to_be_bytes(), &[1; 1024]).unwrap());
    for round in 0..3 {
        db.set(b"large", &vec![0; 8 << 20]).unwrap();
        fill(0);
        assert!(db.delete(b"large").unwrap());
        fill(6000);
        check(&db);
        assert_eq!((db.stats().evicted, db.len()), (0, 12_000), "round {round}");
        db.clear().unwrap();
        assert_eq!(db.stats().entry_bytes, 0);
        // Large ones of all kinds die with the others.
        (0..6000u32).for_each(|number| db.set(&number.to_be_bytes(), &[1; 1024]).unwrap());
        (0..50u32).for_each(|number| db.set(&number.to_le_bytes(), &[1; 100_000]).unwrap());
        db.set(b"large", &vec![0; 2 << 20]).unwrap();
        db.clear().unwrap();
        assert_eq!(db.stats().entry_bytes, 0);
    }
    while db.maintain(std::time::Duration::from_millis(1)) {}
    assert!(db.stats().accounted_bytes < MIB, "{:?}", db.stats());
    check(&db);
}

/// Under the smallest cap that it names, a store holds a key, however many shards it has.
#[test]
fn the_least_cap_holds_a_key() {
    for shards in [1, 16, 256, 4096] {
        let db = Database::open(Options::memory(1 << 30).shards(Some(shards))).unwrap();
        let least = db.least_cap();
        db.set_cap(least).unwrap();
        db.set(b"key", b"value").unwrap();
        assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]), "{shards} shards, {least} bytes");
        // What the program has reserved is added.
        db.set_cap(1 << 30).unwrap();
        db.reserve(1 << 20).unwrap();
        assert_eq!(db.least_cap(), least + (1 << 20), "{shards} shards");
        db.release(1 << 20);
    }
}
