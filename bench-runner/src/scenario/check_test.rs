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
        (("keys = 10", "keys = 10\nvalue_mix = [[64, 1]]"), "leave value_bytes out"),
        (("keys = 10", "keys = 10\ndistribution = [\"zipf\", \"zipf\"]"), "distribution holds zipf twice"),
        (("keys = 10", "keys = 10\ndistribution = [\"zip\"]"), "did you mean `zipf`?"),
        (("keys = 10", "keys = 10\narrival = \"poisson\""), "`arrival` needs rate_percent"),
        (("keys = 10", "keys = 10\nrate_per_second = [10]"), "need `arrival`"),
        (
            ("keys = 10", "keys = 10\nrate_per_second = [0]\narrival = \"fixed\""),
            "rate_per_second must be 1 to",
        ),
        (
            ("keys = 10", "keys = 10\nrate_percent = [50]\narrival = \"fixed\""),
            "put a [[load]] with seek = \"peak\"",
        ),
        (
            ("keys = 10", "keys = 10\nseek = \"knee\"\narrival = \"fixed\""),
            "put a [[load]] with seek = \"peak\"",
        ),
        (("keys = 10", "keys = 10\nseek = \"peak\"\nrequests = [10]"), "`requests` belongs to a closed loop"),
        (("keys = 10", "keys = 10\nttl_ms = 0"), "ttl_ms must be 1 to"),
        (("\"set\"", "\"get\"\nttl_ms = 5"), "ttl_ms belongs to operation"),
        (("keys = 10", "keys = 10\nvariant = \"mimalloc\""), "must be a switch and its value"),
        (("keys = 10", "keys = 10\nmemory_limit_bytes = 1"), "memory_limit_bytes must be"),
        (("keys = 10", "keys = 10\nclient_program = \"wrk\""), "wrk takes operation \"get\" with protocol"),
        (
            ("keys = 10", "keys = 10\nclient_program = \"redis-benchmark\"\nrequests = [5]"),
            "takes a plain closed loop",
        ),
        (
            ("keys = 10", "keys = 10\nconnections = \"new\""),
            "connections = \"new\" takes operation \"get\" with protocol \"http\"",
        ),
        (
            ("clients = [1]", "clients = [1]\nconnections = \"new\"\npipeline = [2]"),
            "one request per connection",
        ),
        (
            ("revision = 1", "revision = 1\ntrials = { smoke = 1, quick = 0, full = 3 }"),
            "trials.quick must be",
        ),
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

#[test]
fn rates_may_follow_their_peak() {
    let rates = "[[load]]\noperation = \"set\"\nvalue_bytes = [64]\nclients = [1]\nkeys = 10\narrival = \"poisson\"\nrate_percent = [50]\n";
    let peak = GOOD.replace("keys = 10", "keys = 10\nseek = \"peak\"");
    Scenario::parse("demo.toml", &format!("{peak}\n{rates}")).unwrap();
}

#[test]
fn a_scenario_may_have_trials_of_its_own() {
    let text = GOOD.replace("revision = 1", "revision = 1\ntrials = { smoke = 1, quick = 2, full = 3 }");
    let scenario = Scenario::parse("demo.toml", &text).unwrap();
    assert_eq!(PROFILES.map(|profile| scenario.rules(profile).trials), [1, 2, 3, 3]);
    let plain = Scenario::parse("demo.toml", GOOD).unwrap();
    assert_eq!(PROFILES.map(|profile| plain.rules(profile).trials), [1, 3, 5, 9]);
}

#[test]
fn what_is_counted_must_not_be_evicted_and_a_trace_must_press_on_its_cap() {
    let head = GOOD.split("[[load]]").next().unwrap();
    let check = |kind: &str, section: &str| {
        let text = format!("{}{section}", head.replace("\"wire\"", kind));
        Scenario::parse("demo.toml", &text).unwrap_err().to_string()
    };
    let per_key = "[[per_key]]\nkeys = 1_000_000\nvalue_bytes = 64\ncap_bytes = 100_000_000\n";
    assert!(check("\"memory_per_key\"", per_key).contains("per_key 1: cap_bytes must be at least twice"));
    let expiry = "[[expiry]]\nclients = 1\nkept_keys = 1\nkeys = 9\nvalue_bytes = 64\nwithin_ms = 1\ncap_bytes = 1_000_000\n";
    assert!(check("\"expiry\"", expiry).contains("expiry 1: within_ms must be"));
    let trace = "[[cap]]\ncap_bytes = 2_097_152\ntrace = { keys = 10, value_bytes = [64, 64], requests = { smoke = 1, quick = 1, full = 1 } }\n";
    assert!(check("\"memory_cap\"", trace).contains("all fit under the cap"));
}

#[test]
fn a_scenario_is_in_the_version_that_added_it_and_in_later_ones() {
    let since = |version: &str| GOOD.replace("place = 1", &format!("place = 1\nsince = \"{version}\""));
    let scenario = Scenario::parse("demo.toml", &since("0.5.2")).unwrap();
    let told = ["0.5.1", "0.5.2", "0.10.0"].map(|version| scenario.is_in(version));
    assert_eq!(told, [false, true, true]);
    assert!(Scenario::parse("demo.toml", GOOD).unwrap().is_in("0.0.1"));
    assert!(Scenario::parse("demo.toml", &since("soon")).unwrap_err().to_string().contains("not a version"));
}

#[test]
fn what_belongs_to_one_operation_of_an_engine_is_refused_for_others_and_needed_there() {
    let head = GOOD.split("[[load]]").next().unwrap().replace("\"wire\"", "\"embedded\"");
    let records = "records = { smoke = 5_000, quick = 5_000, full = 5_000 }\nvalue_bytes = [100]\n";
    let rest = "rest_seconds = { smoke = 1, quick = 1, full = 1 }\n";
    let refused = |operation: &str, more: &str| {
        let text = format!("{head}[[embedded]]\noperation = \"{operation}\"\n{records}{more}");
        Scenario::parse("demo.toml", &text).map_or_else(|error| error.to_string(), |_| String::new())
    };
    assert_eq!(refused("queue", rest), "");
    assert!(refused("queue", "").contains("rest_seconds belongs to operation \"queue\", which needs it"));
    assert!(refused("delete_range", rest).contains("rest_seconds belongs to"));
    assert_eq!(refused("overwrite", "rounds = 3\n"), "");
    assert!(refused("overwrite", "").contains("rounds belongs to operation \"overwrite\""));
    assert!(
        refused("queue", &format!("{rest}store = \"kept\"\n")).contains("a stored directory is only read")
    );
    assert_eq!(refused("delete_range", "store = \"copy\"\n"), "");
    let few = records.replace("smoke = 5_000", "smoke = 500");
    let text = format!("{head}[[embedded]]\noperation = \"delete_range\"\n{few}");
    assert!(Scenario::parse("demo.toml", &text).unwrap_err().to_string().contains("at least 1000"));
}
