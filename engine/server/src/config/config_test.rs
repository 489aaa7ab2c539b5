//! Precedence, units and refusals of the configuration.

use super::*;

fn from(flags: &[(&str, &str)], environment: &[(&str, &str)], file: Option<&str>) -> Result<Config, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = file.map(|text| {
        let path = directory.path().join("plumbkv.toml");
        std::fs::write(&path, text).unwrap();
        path
    });
    let result = load(
        |name| flags.iter().filter(|(flag, _)| *flag == name).map(|(_, value)| (*value).to_owned()).collect(),
        |name| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()),
        path.as_deref(),
    );
    result.map_err(|error| error.to_string().replace(&format!("{}/", directory.path().display()), ""))
}

#[test]
fn nothing_said_gives_the_defaults() {
    let config = from(&[], &[], None).unwrap();
    assert_eq!(config.listen, ["127.0.0.1:6379".parse().unwrap()]);
    assert_eq!(config.policy, Policy::AllkeysLru);
    assert_eq!((config.memory_limit, config.samples, config.max_clients), (None, 5, 10_000));
    assert!(config.protected_mode && config.password.is_none() && config.unix_socket.is_none());
}

#[test]
fn flags_win_over_environment_and_environment_over_file() {
    let file = "memory-limit = \"3mib\"\nmaxclients = 7\ntimeout = 9\nprotected-mode = false";
    let environment =
        [("PLUMBKV_MEMORY_LIMIT", "2mib"), ("PLUMBKV_MAXCLIENTS", "8"), ("PLUMBKV_TIMEOUT", "")];
    let config = from(&[("memory-limit", "1mib")], &environment, Some(file)).unwrap();
    assert_eq!(config.memory_limit, Some(1 << 20));
    assert_eq!(config.max_clients, 8);
    assert_eq!(config.timeout_seconds, 9, "an empty variable counts as unset");
    assert!(!config.protected_mode);
}

#[test]
fn addresses_may_be_many_in_every_source() {
    let two: Vec<SocketAddr> = vec!["127.0.0.1:1".parse().unwrap(), "[::1]:2".parse().unwrap()];
    let flags = [("listen", "127.0.0.1:1"), ("listen", "[::1]:2")];
    assert_eq!(from(&flags, &[], None).unwrap().listen, two);
    assert_eq!(from(&[], &[("PLUMBKV_LISTEN", "127.0.0.1:1, [::1]:2")], None).unwrap().listen, two);
    assert_eq!(from(&[], &[], Some("listen = ['127.0.0.1:1', '[::1]:2']")).unwrap().listen, two);
    assert_eq!(from(&[], &[], Some("listen = '127.0.0.1:1'")).unwrap().listen, two[..1]);
}

#[test]
fn http_is_an_address_or_off() {
    assert_eq!(from(&[], &[], None).unwrap().http, Http::Default);
    assert_eq!(from(&[], &[("PLUMBKV_HTTP", "off")], Some("http = ':1'")).unwrap().http, Http::Off);
    let given = from(&[("http", "localhost:0")], &[], None).unwrap().http;
    assert_eq!(given, Http::At("127.0.0.1:0".parse().unwrap()));
    let wrong = from(&[], &[("PLUMBKV_HTTP", "on")], None).unwrap_err();
    assert!(wrong.starts_with("invalid value 'on' for PLUMBKV_HTTP: expected HOST:PORT"), "{wrong}");
    assert_eq!(from(&[("log-format", "json")], &[], None).unwrap().log_format, Format::Json);
}

#[test]
fn numbers_in_the_file_may_be_numbers() {
    assert_eq!(from(&[], &[], Some("memory-limit = 2097152")).unwrap().memory_limit, Some(2 << 20));
    assert_eq!(from(&[], &[], Some("memory-limit = 0")).unwrap().memory_limit, Some(u64::MAX));
}

#[test]
fn a_refusal_names_its_source_and_what_would_be_right() {
    for (result, expected) in [
        (
            from(&[("memory-limit", "lots")], &[], None),
            "invalid value 'lots' for --memory-limit: expected a number of bytes or a size such as 2mib, 64mb or 1gb",
        ),
        (
            from(&[], &[("PLUMBKV_PROTECTED_MODE", "maybe")], None),
            "invalid value 'maybe' for PLUMBKV_PROTECTED_MODE: expected yes or no",
        ),
        (
            from(&[], &[], Some("maxclients = 0")),
            "invalid value '0' for `maxclients` in plumbkv.toml: expected a whole number from 1 to 4294967295",
        ),
        (
            from(&[], &[], Some("memry-limit = 1")),
            "plumbkv.toml: unknown setting 'memry-limit'; did you mean 'memory-limit'?",
        ),
        (from(&[], &[], Some("maxclients = [1]")), "`maxclients` in plumbkv.toml: expected COUNT"),
        (from(&[], &[], Some("listen = 1.5")), "`listen` in plumbkv.toml: expected HOST:PORT"),
    ] {
        assert_eq!(result.unwrap_err(), expected);
    }
    let broken = from(&[], &[], Some("timeout = 1\nlisten = ")).unwrap_err();
    assert!(broken.starts_with("plumbkv.toml, line 2: ") && !broken.contains('\n'), "{broken}");
    let best = from(&[("maxmemory-policy", "allkeys-best")], &[], None).unwrap_err();
    assert!(
        best.starts_with("invalid value 'allkeys-best' for --maxmemory-policy: expected one of ")
            && !best.contains('\n'),
        "{best}"
    );
    let missing = load(|_| Vec::new(), |_| None, Some(Path::new("/no/such.toml"))).unwrap_err().to_string();
    assert_eq!(missing, "cannot read the configuration file /no/such.toml: no such file or directory");
}

#[test]
fn variables_of_other_versions_are_passed_over() {
    assert!(from(&[], &[("PLUMBKV_NO_SUCH_SETTING", "off")], None).is_ok());
}

#[test]
fn every_setting_has_a_variable_of_the_same_name() {
    assert_eq!(variable("unix-socket"), "PLUMBKV_UNIX_SOCKET");
    for setting in SETTINGS {
        let name = variable(setting.name);
        let back = name.trim_start_matches("PLUMBKV_").to_ascii_lowercase().replace('_', "-");
        assert_eq!(back, setting.name);
    }
}

#[test]
fn every_limit_is_read_from_every_source_and_refused_beyond_its_bounds() {
    for limit in Limit::ALL {
        let name = limit.name();
        // Sizes are larger than most counts may be.
        let text = ["2097152", "2000"].into_iter().find(|text| limit.parse(text).is_ok()).unwrap();
        let value = limit.parse(text).unwrap();
        let variable = variable(name);
        let file = format!("{name} = {text}");
        for config in [
            from(&[(name, text)], &[], None),
            from(&[], &[(&variable, text)], None),
            from(&[], &[], Some(&file)),
        ] {
            assert_eq!(config.unwrap().limits.get(limit), value, "{name}");
        }
        let refusal = from(&[(name, "-1")], &[], None).unwrap_err();
        assert!(refusal.starts_with(&format!("invalid value '-1' for --{name}: expected a ")), "{refusal}");
    }
}
