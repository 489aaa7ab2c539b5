//! Which targets are here, which version and allocator, and which file?

use super::command::run;
use super::digest::{is_static, rustc_of, sha256_file};
use super::external::External;
use super::external_memcached::look;
use super::workdir::first_there;
use super::{AllocatorProbe, Catalogue, Definition, SettingScope, Setup, Start, start};
use crate::load::client::{Client, ClientError, info_field};
use crate::model::{Build, Role, Setting, TargetRecord};
use std::path::{Path, PathBuf};
use std::time::Duration;

const DRIVERS_DIR: &str = "{drivers_dir}/";

/// Looks at every target of the catalogue: there or not, and what it is.
#[must_use]
pub fn probe(catalogue: &Catalogue, setup: &Setup) -> Vec<TargetRecord> {
    catalogue
        .targets()
        .iter()
        .map(|definition| probe_one(definition, catalogue.overridden(&definition.key), setup))
        .collect()
}

fn probe_one(definition: &Definition, chosen: Option<&Path>, setup: &Setup) -> TargetRecord {
    let mut record = TargetRecord {
        key: definition.key.clone(),
        title: String::new(),
        role: definition.role,
        available: false,
        reason: None,
        version: String::new(),
        allocator: String::new(),
        transport: definition.transport.clone(),
        durability: definition.durability.clone(),
        command: Vec::new(),
        settings: Vec::new(),
        build: None,
        image: None,
    };
    match identify(definition, chosen, setup, &mut record) {
        Ok(()) => record.available = true,
        Err(reason) => record.reason = Some(reason),
    }
    let web = definition.external.as_ref().is_some_and(|external| external.page.is_some());
    let version = if record.version.is_empty() { "not found" } else { &record.version };
    record.title = definition.title.replace("{version}", version).replace("{allocator}", &record.allocator);
    if web {
        record.title = record.title.replace(" (unknown)", "");
    }
    if !record.available {
        // An empty pair of brackets is all that is left of an allocator that could not be asked.
        record.title = record.title.replace(" ()", "");
    }
    record
}

fn identify(
    definition: &Definition,
    chosen: Option<&Path>,
    setup: &Setup,
    record: &mut TargetRecord,
) -> Result<(), String> {
    let limit = definition.default_memory_limit.map_or_else(String::new, |bytes| bytes.to_string());
    record.command = std::iter::once(definition.key.clone()).chain(definition.args.iter().cloned()).collect();
    let containers = definition.container.is_some() && setup.image.is_ok();
    for setting in &definition.settings {
        if setting.only == Some(SettingScope::ContainerPublished) && !containers {
            continue;
        }
        let value = if setting.only == Some(SettingScope::Cap) {
            setting.value.replace("{memory_limit}", "the cell's cap")
        } else {
            setting.value.replace("{memory_limit}", &limit)
        };
        record.settings.push(Setting { key: setting.key.clone(), value, reason: setting.reason.clone() });
    }
    if let Some(reference) = &definition.image {
        return identify_image(definition, reference, setup, record);
    }
    if let Some(external) = &definition.external {
        return identify_external(external, record);
    }
    if definition.address.is_some() {
        return Err("it is reached only by a run that is meant for it".to_owned());
    }
    let binary = locate(definition, chosen, setup)?;
    if let Some(name) = binary.file_name() {
        record.command[0] = name.to_string_lossy().into_owned();
    }
    let program = binary.display().to_string();
    let arguments: Vec<&str> = definition.version.args.iter().map(String::as_str).collect();
    let told = run(&program, &arguments, Duration::from_secs(10))?;
    let said = format!("{}\n{}", told.stdout, told.stderr);
    record.version = word_after(&said, &definition.version.after)
        .ok_or_else(|| format!("{program} does not say its version: {}", told.last_line()))?;
    record.build = Some(describe_file(&binary, definition.role)?);
    record.allocator = match &definition.allocator {
        AllocatorProbe { text: Some(text), .. } => text.clone(),
        AllocatorProbe { after: Some(after), .. } => {
            word_after(&said, after).unwrap_or_else(|| "unknown".to_owned())
        }
        AllocatorProbe { info: Some(field), .. } => ask_info(definition, chosen, setup, field)?,
        AllocatorProbe { .. } => "unknown".to_owned(),
    };
    if definition.container.is_some() {
        record.image = setup.image.as_ref().ok().cloned();
    }
    // A server without the program that asks it cannot be measured, however well it starts.
    locate_client(definition, setup)?;
    Ok(())
}

/// A server that is already running is asked by `INFO`; over HTTP, its answer says what it is, or nothing does.
fn identify_external(external: &External, record: &mut TargetRecord) -> Result<(), String> {
    record.command = vec![external.shown.clone()];
    if let Some(page) = &external.page {
        let server = page.look(&external.address, Duration::from_secs(10));
        let server = server.map_err(|reason| format!("{}: {reason}", external.shown))?;
        record.version = if server.is_empty() { "unknown".to_owned() } else { server };
        record.allocator = "unknown".to_owned();
        return Ok(());
    }
    if external.is_memcached {
        let told = look(&external.address, Duration::from_secs(10));
        record.version = told.map_err(|error| format!("{}: {error}", external.shown))?.version;
        record.allocator = "slabs".to_owned();
        return Ok(());
    }
    let info =
        Client::connect(&external.address, Duration::from_secs(10)).and_then(|mut client| client.info());
    // A server that does not know the command is measured all the same.
    let info = match info {
        Err(ClientError::Unexpected { .. }) => String::new(),
        other => other.map_err(|error| format!("{}: {error}", external.shown))?,
    };
    let field = |name: &str| info_field(&info, name).map(str::to_owned);
    let name = field("server_name").unwrap_or_else(|| "redis".to_owned());
    let version = field(&format!("{name}_version")).or_else(|| field("redis_version"));
    record.version = version.unwrap_or_else(|| "unknown".to_owned());
    record.allocator = field("mem_allocator").unwrap_or_else(|| "unknown".to_owned());
    Ok(())
}

/// An image that is here already is asked by a container of it.
fn identify_image(
    definition: &Definition,
    reference: &str,
    setup: &Setup,
    record: &mut TargetRecord,
) -> Result<(), String> {
    let runtime = setup.runtime.as_ref().map_err(Clone::clone)?;
    record.image = Some(runtime.describe_image(reference)?);
    let arguments: Vec<&str> = definition.version.args.iter().map(String::as_str).collect();
    let told = runtime.run_once(reference, &arguments)?;
    let said = format!("{}\n{}", told.stdout, told.stderr);
    record.version = word_after(&said, &definition.version.after)
        .ok_or_else(|| format!("{reference} does not say its version: {}", told.last_line()))?;
    record.allocator = match &definition.allocator {
        AllocatorProbe { text: Some(text), .. } => text.clone(),
        AllocatorProbe { after: Some(after), .. } => word_after(&said, after).unwrap_or_default(),
        AllocatorProbe { .. } => "unknown".to_owned(),
    };
    Ok(())
}

fn ask_info(
    definition: &Definition,
    chosen: Option<&Path>,
    setup: &Setup,
    field: &str,
) -> Result<String, String> {
    let target = start(&Start::native(definition, chosen, setup))?;
    let info = Client::connect(&target.address, Duration::from_secs(5)).and_then(|mut client| client.info());
    target.stop();
    let info = info.map_err(|error| format!("{}: {error}", definition.key))?;
    Ok(info_field(&info, field).unwrap_or("unknown").to_owned())
}

/// The file of a target's program.
///
/// # Errors
/// There is none; the message says what to do.
pub fn locate(definition: &Definition, chosen: Option<&Path>, setup: &Setup) -> Result<PathBuf, String> {
    let hint =
        if definition.missing.is_empty() { String::new() } else { format!("; {}", definition.missing) };
    let path = match (chosen, definition.binary.as_str()) {
        (Some(path), _) => path.to_owned(),
        (None, "{server_binary}") => setup.server_binary.clone(),
        (None, "{runner_binary}") => setup.runner_binary.clone(),
        (None, name) if name.starts_with(DRIVERS_DIR) => driver_path(name, setup),
        (None, name) if name.contains('/') => PathBuf::from(name),
        (None, "") => return Err(format!("{} is an image, not a program", definition.key)),
        (None, name) => {
            let folders = std::env::var_os("PATH").unwrap_or_default();
            // Servers lie in sbin on Debian, which is not on everybody's path.
            let found = std::env::split_paths(&folders)
                .chain(["/usr/sbin".into(), "/usr/local/sbin".into()])
                .map(|folder| folder.join(name))
                .find(|path| path.is_file())
                .or_else(|| first_there(&setup.root, &definition.fallbacks));
            return found.ok_or_else(|| format!("{name} is not on PATH{hint}"));
        }
    };
    if path.is_file() { Ok(path) } else { Err(format!("{} is not there{hint}", path.display())) }
}

/// `{drivers_dir}/NAME`: beside the runner, where `make drivers` puts it.
fn driver_path(name: &str, setup: &Setup) -> PathBuf {
    let folder = setup.runner_binary.parent().unwrap_or(Path::new("."));
    folder.join(name.trim_start_matches(DRIVERS_DIR))
}

/// The file of the driver program that is a target's client; none where it needs none.
///
/// # Errors
/// It is not there; the message says what to do.
pub fn locate_client(definition: &Definition, setup: &Setup) -> Result<Option<PathBuf>, String> {
    let Some(name) = &definition.client else { return Ok(None) };
    let path = driver_path(name, setup);
    if path.is_file() {
        return Ok(Some(path));
    }
    Err(format!("{} is not there; build it with `make drivers`", path.display()))
}

/// The word that follows `after`, up to white space or a comma.
fn word_after(text: &str, after: &str) -> Option<String> {
    let rest = if after.is_empty() { text } else { text.split_once(after)?.1 };
    let word = rest.split(|c: char| c.is_whitespace() || c == ',').find(|word| !word.is_empty())?;
    Some(word.to_owned())
}

fn describe_file(path: &Path, role: Role) -> Result<Build, String> {
    let told = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let bytes = std::fs::read(path).map_err(told)?;
    let linked = is_static(&bytes);
    let ours = role != Role::Rival;
    // Cargo's own folders: target/<triple>/<profile>/<file>, the triple only where one was named.
    let mut folders = path.parent().into_iter().flat_map(Path::ancestors).filter_map(Path::file_name);
    let mut folder = || folders.next().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (profile, triple) = (folder(), folder());
    let triple = if triple.matches('-').count() >= 2 { triple } else { String::new() };
    let known = ours && ["release", "debug"].contains(&profile.as_str());
    Ok(Build {
        file: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        sha256: sha256_file(path).map_err(told)?,
        bytes: bytes.len() as u64,
        profile: if known { profile } else { String::new() },
        rustc: if ours { rustc_of(&bytes) } else { String::new() },
        // On glibc a program is linked statically by this flag and by no other.
        rustflags: if ours && linked && triple.ends_with("-gnu") {
            "-C target-feature=+crt-static".to_owned()
        } else {
            String::new()
        },
        target: if known { triple } else { String::new() },
        is_static: linked,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_word_after_its_mark() {
        let redis = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d";
        assert_eq!(word_after(redis, "v=").as_deref(), Some("7.0.15"));
        assert_eq!(word_after(redis, "malloc=").as_deref(), Some("jemalloc-5.3.0"));
        assert_eq!(word_after("plumbkv 0.1.0\n", "plumbkv ").as_deref(), Some("0.1.0"));
        assert_eq!(word_after(redis, "libc="), None);
    }

    #[test]
    fn a_target_that_is_not_installed_is_a_record_that_says_what_to_do() {
        let catalogue =
            Catalogue::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/targets.toml")).unwrap();
        let setup = Setup::new("/".into(), std::env::temp_dir(), "/nowhere/plumbkv".into());
        let record = probe_one(catalogue.get("plumbkv").unwrap(), None, &setup);
        assert!(!record.available);
        let reason = record.reason.unwrap();
        assert!(reason.contains("/nowhere/plumbkv is not there") && reason.contains("make"), "{reason}");
        assert_eq!(record.title, "PlumbKV not found");
    }
}
