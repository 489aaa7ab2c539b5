//! Rows of what a run has apart from its cells: machine, environment, builds, targets, components.

use super::{Rows, text, whole, word};
use crate::model::{Build, Component, Environment, Machine, Run, TargetRecord, Tool};
use rusqlite::params;

impl Rows<'_> {
    pub(super) fn campaign(&self, run: &Run) -> anyhow::Result<i64> {
        let machine = self.machine(&run.machine_key, &run.machine)?;
        let environment = self.environment(&run.environment)?;
        let harness = self.harness(&run.tool)?;
        Ok(self.put(
            "INSERT INTO campaign (run_id, version, machine_id, environment_id, harness_id, profile, purpose, started_at, \
             finished_at, elapsed_s, seed, state, command, reproduce, commit_id, dirty, source_version, notes) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
            params![
                run.id,
                run.version,
                machine,
                environment,
                harness,
                word(&run.profile)?,
                run.purpose,
                run.started_at,
                run.finished_at,
                run.elapsed_s,
                whole(run.seed),
                word(&run.state)?,
                run.command,
                text(&run.reproduce)?,
                run.source.commit,
                run.source.dirty,
                run.source.version,
                text(&run.notes)?,
            ],
        )?)
    }

    fn machine(&self, key: &str, machine: &Machine) -> rusqlite::Result<i64> {
        let found = self.shared(
            "SELECT machine_id FROM machine WHERE machine_key = ?1 AND fingerprint = ?2 AND title = ?3 AND class = ?4",
            params![key, machine.fingerprint, machine.title, machine.class],
        )?;
        if let Some(known) = found {
            return Ok(known);
        }
        self.put(
            "INSERT INTO machine (machine_key, fingerprint, title, class, cpu_model, architecture, cores, threads, \
             memory_gib, virtualisation) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                key,
                machine.fingerprint,
                machine.title,
                machine.class,
                machine.cpu_model,
                machine.architecture,
                machine.cores,
                machine.threads,
                machine.memory_gib,
                machine.virtualisation,
            ],
        )
    }

    fn environment(&self, found: &Environment) -> anyhow::Result<i64> {
        Ok(self.put(
            "INSERT INTO environment (os, kernel, governor, turbo, smt, transparent_hugepage, aslr, swap_bytes, mitigations, \
             cgroup_version, cgroup_controllers, container_runtime, container_reason, open_files_limit, somaxconn, \
             load_average_start, server_cpus, generator_cpus, tools) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
            params![
                found.os,
                found.kernel,
                found.governor,
                found.turbo,
                found.smt,
                found.transparent_hugepage,
                found.aslr,
                whole(found.swap_bytes),
                text(&found.mitigations)?,
                found.cgroup_version,
                text(&found.cgroup_controllers)?,
                found.container_runtime,
                found.container_reason,
                whole(found.open_files_limit),
                found.somaxconn,
                found.load_average_start,
                found.server_cpus,
                found.generator_cpus,
                text(&found.tools)?,
            ],
        )?)
    }

    fn harness(&self, tool: &Tool) -> rusqlite::Result<i64> {
        let by = params![tool.name, tool.version];
        match self.shared("SELECT harness_id FROM harness WHERE name = ?1 AND version = ?2", by)? {
            Some(known) => Ok(known),
            None => self.put("INSERT INTO harness (name, version) VALUES (?1, ?2)", by),
        }
    }

    fn build(&self, build: &Build) -> rusqlite::Result<i64> {
        let by = params![build.file, build.sha256, build.profile, build.rustc, build.target, build.rustflags];
        let found = self.shared(
            "SELECT build_id FROM build WHERE file = ?1 AND sha256 = ?2 AND profile = ?3 AND rustc = ?4 AND target = ?5 \
             AND rustflags = ?6",
            by,
        )?;
        if let Some(known) = found {
            return Ok(known);
        }
        self.put(
            "INSERT INTO build (file, sha256, bytes, profile, rustc, target, rustflags, is_static) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                build.file,
                build.sha256,
                whole(build.bytes),
                build.profile,
                build.rustc,
                build.target,
                build.rustflags,
                build.is_static,
            ],
        )
    }

    pub(super) fn target(&self, campaign: i64, target: &TargetRecord) -> anyhow::Result<i64> {
        let build = target.build.as_ref().map(|build| self.build(build)).transpose()?;
        let image = target.image.as_ref();
        Ok(self.put(
            "INSERT INTO target (campaign_id, key, title, role, available, reason, version, allocator, transport, durability, \
             command, settings, build_id, image_reference, image_digest, image_bytes, image_binary_sha256, image_runtime) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
            params![
                campaign,
                target.key,
                target.title,
                word(&target.role)?,
                target.available,
                target.reason,
                target.version,
                target.allocator,
                target.transport,
                target.durability,
                text(&target.command)?,
                text(&target.settings)?,
                build,
                image.map(|image| &image.reference),
                image.map(|image| &image.digest),
                image.map(|image| whole(image.bytes)),
                image.map(|image| &image.binary_sha256),
                image.map(|image| &image.runtime),
            ],
        )?)
    }

    pub(super) fn component(&self, campaign: i64, component: &Component) -> rusqlite::Result<i64> {
        self.put(
            "INSERT INTO component (campaign_id, key, group_name, name, ns_per_op, ns_per_op_low, ns_per_op_high, estimate, \
             bytes_per_op) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                campaign,
                component.key,
                component.group,
                component.name,
                component.ns_per_op,
                component.ns_per_op_low,
                component.ns_per_op_high,
                component.estimate,
                component.bytes_per_op.map(whole),
            ],
        )
    }
}
