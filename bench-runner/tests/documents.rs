//! Does every JSON document of a command say what it is, and of which shape?

use std::path::Path;
use std::process::Command;

#[test]
fn documents_have_a_schema_and_a_version() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let run = |arguments: &[&str]| -> serde_json::Value {
        let output = Command::new(env!("CARGO_BIN_EXE_bench-runner"))
            .current_dir(&root)
            .args(["--format", "json"])
            .args(arguments)
            .output()
            .expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
    };
    for (arguments, schema) in [
        (&["list"][..], "plumbkv.list"),
        (&["plan", "--profile", "smoke", "--scenario", "wire-single"], "plumbkv.plan"),
        (&["env"], "plumbkv.env"),
        (&["machines"], "plumbkv.machines"),
        (&["complete", "--version", "0.5.1"], "plumbkv.complete"),
        (&["compare", "0.2.0", "0.3.0"], "plumbkv.compare"),
        (&["report", "--version", "0.1.0"], "plumbkv.report"),
    ] {
        let document = run(arguments);
        assert_eq!(
            (&document["schema"], &document["schema_version"]),
            (&schema.into(), &1.into()),
            "{arguments:?}"
        );
    }
}
