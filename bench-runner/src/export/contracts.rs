//! Contracts with readers in other languages: JSON Schema and TypeScript types, generated from [`crate::model`], and the
//! catalogue of scenarios.
//!
//! The files are committed and a test compares them, so a changed field shows in the diff of the contract too.

use super::canonical;
use super::catalogue::catalogue;
use crate::model::{
    BLESSINGS_SCHEMA, BLESSINGS_SCHEMA_VERSION, Blessings, CALIBRATION_SCHEMA, CALIBRATION_SCHEMA_VERSION,
    CLAIMS_SCHEMA, Calibration, Claims, DISTURBED_CORES, GATE_RULE, GATE_SCHEMA, GATE_SCHEMA_VERSION, Gate,
    INDEX_SCHEMA, Index, RUN_SCHEMA, Run, SCENARIO_SCHEMA, SCHEMA_VERSION, ScenarioRecord,
};
use crate::scenario::Scenario;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use ts_rs::{Config, TS, TypeVisitor};

/// A generated file: its path from the root of the checkout, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract {
    /// From the root of the checkout.
    pub path: PathBuf,
    /// The whole file.
    pub text: String,
}

impl Contract {
    /// Whether the file is missing under `root` or differs.
    #[must_use]
    pub fn is_stale(&self, root: &Path) -> bool {
        std::fs::read_to_string(root.join(&self.path)).map_or(true, |text| text != self.text)
    }
}

/// Every generated file.
///
/// # Errors
/// When a schema cannot be spelled as JSON, which a change of the model's types could bring about.
pub fn generate(scenarios: &[Scenario]) -> Result<Vec<Contract>, serde_json::Error> {
    let mut contracts = vec![
        schema_of::<Run>("run", RUN_SCHEMA, SCHEMA_VERSION, "run.json: one sitting on one machine")?,
        schema_of::<ScenarioRecord>(
            "scenario",
            SCENARIO_SCHEMA,
            SCHEMA_VERSION,
            "<scenario>.json.zst, decompressed: one scenario of a run",
        )?,
        schema_of::<Index>("index", INDEX_SCHEMA, SCHEMA_VERSION, "index.json: what results/ holds")?,
        schema_of::<Claims>(
            "claims",
            CLAIMS_SCHEMA,
            SCHEMA_VERSION,
            "claims.json: what is claimed, and whether it holds",
        )?,
        schema_of::<Calibration>(
            "calibration",
            CALIBRATION_SCHEMA,
            CALIBRATION_SCHEMA_VERSION,
            "calibration/<machine>.json: how often the gate errs",
        )?,
        schema_of::<Blessings>(
            "blessings",
            BLESSINGS_SCHEMA,
            BLESSINGS_SCHEMA_VERSION,
            "blessings.json: losses that were accepted",
        )?,
        schema_of::<Gate>("gate", GATE_SCHEMA, GATE_SCHEMA_VERSION, "gate.json: base against head")?,
    ];
    contracts.push(Contract { path: PathBuf::from("website/src/generated/records.ts"), text: type_script() });
    contracts.push(Contract {
        path: PathBuf::from("website/src/generated/scenarios.json"),
        text: canonical::to_text(&catalogue(scenarios))?,
    });
    Ok(contracts)
}

/// The generated files that are missing under `root` or differ from what this build generates.
///
/// # Errors
/// As [`generate`].
pub fn stale(root: &Path, scenarios: &[Scenario]) -> Result<Vec<PathBuf>, serde_json::Error> {
    let stale = generate(scenarios)?.into_iter().filter(|contract| contract.is_stale(root));
    Ok(stale.map(|contract| contract.path).collect())
}

fn schema_of<T: JsonSchema>(
    name: &str,
    schema: &str,
    version: u32,
    title: &str,
) -> Result<Contract, serde_json::Error> {
    let settings = SchemaSettings::draft2020_12()
        .with_transform(|schema: &mut Schema| strip_numeric_formats(schema))
        .for_serialize();
    let mut root = settings.into_generator().into_root_schema_for::<T>().to_value();
    root["$id"] = json!(format!("urn:plumbkv:schema:{name}:{version}"));
    root["title"] = json!(title);
    if let Some(properties) = root.get_mut("properties").and_then(Value::as_object_mut) {
        if let Some(field) = properties.get_mut("schema").and_then(Value::as_object_mut) {
            field.insert("const".to_owned(), json!(schema));
        }
        if let Some(field) = properties.get_mut("schema_version").and_then(Value::as_object_mut) {
            field.insert("const".to_owned(), json!(version));
        }
    }
    let path = Path::new("bench-runner/schema").join(format!("{name}.schema.json"));
    Ok(Contract { path, text: canonical::to_text(&root)? })
}

/// `uint64`, `double` and the like are no formats of JSON Schema: a strict validator refuses what it does not
/// know, and the bounds stand in `minimum` and `maximum` already.
fn strip_numeric_formats(schema: &mut Schema) {
    if schema.get("type").is_some_and(|kind| kind != "string") {
        schema.remove("format");
    }
    schemars::transform::transform_subschemas(&mut strip_numeric_formats, schema);
}

fn type_script() -> String {
    let mut collector = Collector::default();
    collector.visit::<Index>();
    collector.visit::<Run>();
    collector.visit::<ScenarioRecord>();
    collector.visit::<Claims>();
    collector.visit::<Gate>();
    collector.visit::<Calibration>();
    collector.visit::<Blessings>();
    let mut text = String::from("// generated by bench-runner contracts; do not edit\n\n");
    text.push_str(&format!(
        "/** Version of the records these types describe. */\nexport const SCHEMA_VERSION = {SCHEMA_VERSION};\n"
    ));
    text.push_str(&format!(
        "\n/** The rule by which the gate judges; a calibration of another one says nothing of it. */\n\
         export const GATE_RULE = '{GATE_RULE}';\n"
    ));
    text.push_str(&format!(
        "\n/** CPUs that others may use in most trials of a cell; with more, it is neither published nor judged. */\n\
         export const DISTURBED_CORES = {DISTURBED_CORES};\n"
    ));
    for declaration in collector.declarations.values() {
        text.push('\n');
        text.push_str(declaration);
    }
    text
}

/// Declares a type and those it names, each once, by name: ts-rs visits them in an order that changes from
/// build to build.
#[derive(Default)]
struct Collector {
    config: Config,
    declarations: BTreeMap<String, String>,
}

impl TypeVisitor for Collector {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        // Primitives, options and lists have no file of their own; what they hold is visited through them.
        let name = T::name(&self.config);
        if T::output_path().is_none() || self.declarations.contains_key(&name) {
            return;
        }
        let declaration = tidy(&T::decl(&self.config));
        let docs = T::docs().unwrap_or_default();
        self.declarations.insert(name, format!("{docs}export {declaration}"));
        T::visit_dependencies(self);
    }
}

/// A declaration as ts-rs gives it, with its fields indented and no blanks at the ends of lines.
fn tidy(declaration: &str) -> String {
    let mut text = String::new();
    let body = declaration.strip_suffix(", };");
    for (number, line) in body.unwrap_or(declaration).lines().enumerate() {
        text.push_str(if number > 0 { "  " } else { "" });
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if body.is_some() {
        text.truncate(text.trim_end().len());
        text.push_str(",\n};\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_contracts_are_those_of_the_types() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let scenarios = crate::campaign::catalogue::scenarios(&root).unwrap();
        let stale = stale(&root, &scenarios).unwrap();
        assert!(stale.is_empty(), "stale: {stale:?}; run `bench-runner contracts` and commit what it writes");
    }

    #[test]
    fn a_missing_or_changed_file_is_stale() {
        let root = tempfile::tempdir().unwrap();
        let all = generate(&[]).unwrap();
        assert_eq!(stale(root.path(), &[]).unwrap().len(), all.len());
        for contract in &all {
            let path = root.path().join(&contract.path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &contract.text).unwrap();
        }
        assert_eq!(stale(root.path(), &[]).unwrap(), Vec::<PathBuf>::new());
        let types = root.path().join("website/src/generated/records.ts");
        std::fs::write(&types, "export type Run = unknown;\n").unwrap();
        assert_eq!(stale(root.path(), &[]).unwrap(), [PathBuf::from("website/src/generated/records.ts")]);
    }

    #[test]
    fn every_type_is_declared_once_and_with_its_comments() {
        let text = type_script();
        for name in ["Index", "Run", "ScenarioRecord", "Cell", "Trial", "Profile", "Ratio", "Component"] {
            let declarations = text.matches(&format!("export type {name} =")).count();
            assert_eq!(declarations, 1, "{name}");
        }
        assert!(text.contains("Server CPU time, ns."), "fields carry their comments");
        assert!(!text.contains("bigint"), "numbers stay below 2^53 and are plain numbers");
    }

    #[test]
    fn schemas_pin_name_and_version_and_use_no_unknown_formats() {
        for contract in generate(&[]).unwrap().iter().filter(|one| one.path.ends_with("run.schema.json")) {
            let schema: Value = serde_json::from_str(&contract.text).unwrap();
            assert_eq!(schema["properties"]["schema"]["const"], RUN_SCHEMA);
            assert_eq!(schema["properties"]["schema_version"]["const"], SCHEMA_VERSION);
            assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
            assert_eq!(schema["additionalProperties"], false);
            assert!(!contract.text.contains("\"uint"), "{}", contract.text);
        }
    }
}
