//! Rows of what a run has apart from its cells: machine, environment, builds, targets, scenarios, components.

use super::{Fields, Rows, fields, rename, take, take_part};
use crate::model::{Component, Run, ScenarioEntry, ScenarioInfo, ScenarioRecord, TargetRecord, Tool};
use serde_json::{Value, json};

impl Rows<'_> {
    pub(super) fn campaign(&self, run: &Run, record_sha256: &str) -> anyhow::Result<i64> {
        let mut all = fields(run)?;
        // Each has rows of its own, or follows from them.
        for part in ["schema", "tool", "targets", "scenarios", "histograms", "components"] {
            take(&mut all, part);
        }
        let mut machine = take_part(&mut all, "machine");
        machine.insert("machine_key".to_owned(), take(&mut all, "machine_key"));
        let machine = self.shared("machine", &["machine_key", "fingerprint", "title", "class"], machine)?;
        let environment = take_part(&mut all, "environment");
        let environment = self.put_fields("environment", &[], vec![("environment", environment)])?;
        let harness = self.harness(&run.tool)?;
        let mut source = take_part(&mut all, "source");
        rename(&mut source, "commit", "commit_id");
        rename(&mut source, "version", "source_version");
        rename(&mut all, "id", "run_id");
        all.insert("record_sha256".to_owned(), record_sha256.into());
        let ids = [
            ("machine_id", Some(machine)),
            ("environment_id", Some(environment)),
            ("harness_id", Some(harness)),
        ];
        self.put_fields("campaign", &ids, vec![("run", all), ("source", source)])
    }

    fn harness(&self, tool: &Tool) -> anyhow::Result<i64> {
        self.shared("harness", &["name", "version"], fields(tool)?)
    }

    pub(super) fn target(&self, campaign: i64, target: &TargetRecord) -> anyhow::Result<i64> {
        let mut all = fields(target)?;
        let by = ["file", "sha256", "profile", "rustc", "target", "rustflags"];
        let build = match take_part(&mut all, "build") {
            none if none.is_empty() => None,
            build => Some(self.shared("build", &by, build)?),
        };
        let image: Fields = take_part(&mut all, "image")
            .into_iter()
            .map(|(name, value)| (format!("image_{name}"), value))
            .collect();
        let ids = [("campaign_id", Some(campaign)), ("build_id", build)];
        self.put_fields("target", &ids, vec![("target", all), ("image", image)])
    }

    pub(super) fn scenario(&self, info: &ScenarioInfo) -> anyhow::Result<i64> {
        let by =
            ["key", "revision", "params_sha256", "title", "kind", "analysis", "validity", "not_measured"];
        self.shared("scenario", &by, fields(info)?)
    }

    pub(super) fn scenario_record(
        &self,
        campaign: i64,
        place: usize,
        scenario: i64,
        record: &ScenarioRecord,
        entry: &ScenarioEntry,
    ) -> anyhow::Result<()> {
        let mut all = fields(entry)?;
        // The scenario's own.
        take(&mut all, "key");
        take(&mut all, "title");
        all.insert("place".to_owned(), json!(place));
        let shared: String = self.transaction.query_row(
            "SELECT params FROM scenario WHERE scenario_id = ?1",
            [scenario],
            |row| row.get(0),
        )?;
        let params = record.scenario.params.to_string();
        if params != shared {
            all.insert("params".to_owned(), Value::String(params));
        }
        let harness = self.harness(&record.tool)?;
        let ids =
            [("campaign_id", Some(campaign)), ("scenario_id", Some(scenario)), ("harness_id", Some(harness))];
        self.put_fields("scenario_record", &ids, vec![("entry", all)])?;
        Ok(())
    }

    pub(super) fn component(&self, campaign: i64, component: &Component) -> anyhow::Result<i64> {
        let mut all = fields(component)?;
        rename(&mut all, "group", "group_name");
        self.put_fields("component", &[("campaign_id", Some(campaign))], vec![("component", all)])
    }
}
