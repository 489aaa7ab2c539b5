//! What a scenario file may not say, and how it is told.

use super::{PROFILES, Scenario, known_targets};

const GOOD: &str = r#"
key = "demo"
title = "Demo"
kind = "wire"
revision = 1
place = 1
stresses = "a test"
analysis = "Nothing."
validity = "Nothing."
not_measured = "Everything."

[[targets]]
key = "plumbkv"
modes = ["native"]

[[load]]
operation = "set"
value_bytes = [64]
clients = [1]
keys = 10
"#;

fn check(change: (&str, &str)) -> String {
    let text = GOOD.replace(change.0, change.1);
    assert_ne!(text, GOOD, "the change must change something");
    Scenario::parse("scenarios/demo.toml", &text).unwrap_err().to_string()
}

#[test]
fn a_good_one_passes() {
    let scenario = Scenario::parse("scenarios/demo.toml", GOOD).unwrap();
    assert_eq!(scenario.key(), "demo");
    for profile in PROFILES {
        assert_eq!(scenario.uses(profile).len(), 1);
    }
}

#[test]
fn an_unknown_key_names_file_key_and_the_nearest_known_one() {
    assert_eq!(
        check(("clients =", "cleints =")),
        "scenarios/demo.toml, line 19: unknown key `cleints`; did you mean `clients`?"
    );
    assert_eq!(
        check(("title =", "titel =")),
        "scenarios/demo.toml, line 3: unknown key `titel`; did you mean `title`?"
    );
}

#[test]
fn an_unknown_word_is_told_like_an_unknown_key() {
    assert!(check(("\"set\"", "\"sett\"")).contains("unknown word `sett`; did you mean `set`?"));
    assert!(check(("[\"native\"]", "[\"naitve\"]")).contains("did you mean `native`?"));
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    for (change, told) in [
        (("key = \"demo\"", "key = \"other\""), "call it `demo`"),
        (("revision = 1", "revision = 0"), "revision starts at 1"),
        (("\"Everything.\"", "\" \""), "`not_measured` is empty"),
        (("clients = [1]", "clients = []"), "load 1: clients is empty"),
        (("clients = [1]", "clients = [0]"), "load 1: clients must be 1 to 10000, not 0"),
        (("clients = [1]", "clients = [5, 5]"), "load 1: clients holds 5 twice"),
        (("keys = 10", "keys = 0"), "load 1: keys must be"),
        (("keys = 10", "keys = 10\nset_percent = [5]"), "set_percent belongs to operation"),
        (("\"set\"", "\"mixed\""), "load 1: set_percent is empty"),
        (("kind = \"wire\"", "kind = \"startup\""), "kind `startup` takes no [[load]]"),
        (("[\"native\"]", "[\"native\", \"native\"]"), "stands twice"),
        (("keys = 10", "keys = 10\ntargets = [\"plumkv\"]"), "did you mean `plumbkv`?"),
    ] {
        let error = check(change);
        assert!(error.contains(told), "{error}\ndoes not say\n{told}");
    }
}

#[test]
fn faults_are_told_all_at_once() {
    let text = GOOD.replace("revision = 1", "revision = 0").replace("clients = [1]", "clients = [0]");
    let error = Scenario::parse("demo.toml", &text).unwrap_err().to_string();
    assert!(error.contains("revision") && error.contains("clients"), "{error}");
}

#[test]
fn a_cap_writes_exactly_one_thing_and_its_oversize_value_cannot_fit() {
    let cap = "[[cap]]\ncap_bytes = 2097152\nfill = { keys = 1, value_bytes = 1, oversize_bytes = 9 }\n";
    let head = GOOD.split("[[load]]").next().unwrap().replace("\"wire\"", "\"memory_cap\"");
    let error = Scenario::parse("demo.toml", &format!("{head}{cap}")).unwrap_err().to_string();
    assert!(error.contains("cap 1: fill.oversize_bytes must be more than cap_bytes"), "{error}");
    let none = Scenario::parse("demo.toml", &format!("{head}[[cap]]\ncap_bytes = 2097152\n")).unwrap_err();
    assert!(none.to_string().contains("exactly one of"), "{none}");
}

#[test]
fn a_target_that_nobody_can_start_is_named_with_the_nearest() {
    let scenario = Scenario::parse("demo.toml", GOOD).unwrap();
    assert!(known_targets(&scenario, &["plumbkv", "null"]).is_ok());
    let error = known_targets(&scenario, &["plumb-kv", "null"]).unwrap_err().to_string();
    assert_eq!(error, "demo.toml: unknown target `plumbkv`; did you mean `plumb-kv`?");
}
