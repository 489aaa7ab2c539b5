//! Which cells do driver programs have, and is each store loaded before it is read?

use super::cells::Who;
use super::embedded::embedded_units;
use super::step::{EmbeddedPhase, Work};
use crate::model::{Mode, Profile};
use crate::scenario::Scenario;
use plumbkv_bench_driver::protocol::{Distribution, Order, Phase};

fn phases(sections: &str) -> Vec<EmbeddedPhase> {
    let text = format!(
        "key = \"x\"\ntitle = \"x\"\nkind = \"embedded\"\nrevision = 1\nplace = 1\nstresses = \"x\"\nanalysis = \"x\"\n\
         validity = \"x\"\nnot_measured = \"x\"\n[[targets]]\nkey = \"redb\"\nmodes = [\"native\"]\n{sections}"
    );
    let scenario = Scenario::parse("x.toml", &text).unwrap();
    let who = Who { target: "redb", mode: Mode::Native, profile: Profile::Smoke };
    let units = embedded_units(&scenario.definition().embedded, who, true);
    units
        .into_iter()
        .map(|unit| match unit.work {
            Work::Embedded { phase } => phase,
            other => panic!("{other:?}"),
        })
        .collect()
}

const RECORDS: &str = "records = { smoke = 5_000, quick = 6_000, full = 7_000 }\nvalue_bytes = [100]\n";

#[test]
fn every_combination_is_a_cell_of_its_own() {
    let all = phases(&format!(
        "[[embedded]]\noperation = \"read_random\"\ndistribution = [\"uniform\", \"zipf\"]\ncache_bytes = [0, 1_048_576]\n{RECORDS}"
    ));
    let keys: Vec<&str> = all.iter().map(|phase| phase.cell.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "redb/native/apart/read_random-100B-c1-k5000-cache0",
            "redb/native/apart/read_random-100B-c1-k5000-cache1048576",
            "redb/native/apart/read_random-100B-c1-k5000-cache0-zipf",
            "redb/native/apart/read_random-100B-c1-k5000-cache1048576-zipf",
        ]
    );
    assert_eq!(all[3].cell.label, "Zipf reads of 5k × 100 B, 1 MiB cache, 1 client");
    assert!(matches!(
        all[3].measured,
        Phase::ReadRandom { distribution: Distribution::Zipf, threads: 1, .. }
    ));
}

#[test]
fn a_store_is_loaded_and_warmed_up_before_it_is_read_and_empty_before_it_is_loaded() {
    let read = phases(&format!("[[embedded]]\noperation = \"read_ordered\"\n{RECORDS}"));
    assert!(matches!(
        read[0].before.as_slice(),
        [Phase::Load { order: Order::Random, batch: 1_000 }, Phase::ReadOrdered { .. }]
    ));
    let load = phases(&format!("[[embedded]]\noperation = \"load\"\norder = [\"sequential\"]\n{RECORDS}"));
    assert!(load[0].before.is_empty());
    assert_eq!(load[0].cell.axes.distribution.as_deref(), Some("sequential"));
}

#[test]
fn a_get_stands_at_the_point_of_the_axes_of_a_servers_get() {
    let get = phases(&format!("[[embedded]]\noperation = \"get\"\nclients = [1, 50]\n{RECORDS}"));
    assert_eq!(get[1].cell.key, "redb/native/apart/get-100B-c50-p1");
    assert_eq!(get[1].cell.label, "GET 100 B, 50 clients");
}
