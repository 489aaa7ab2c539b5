use super::{Argument, Kind, Repeats, arguments, forms};
use crate::command::table::{self, Id, Spec};

/// The form as a person reads it: `SET key value [NX | XX] …`.
pub(crate) fn usage(spec: &Spec) -> String {
    let name = spec.name.replace('|', " ").to_uppercase();
    let arguments = arguments(spec);
    std::iter::once(name).chain(arguments.iter().map(shown)).collect::<Vec<_>>().join(" ")
}

/// The same in lines of at most `width` letters where that is possible; the next ones are indented.
pub(crate) fn usage_in_lines(spec: &Spec, width: usize) -> String {
    let mut text = spec.name.replace('|', " ").to_uppercase();
    let mut length = text.len();
    for argument in arguments(spec) {
        // A long one is cut between alternatives.
        for (place, part) in shown(&argument).split_inclusive(" | ").enumerate() {
            if length + 1 + part.trim_end().len() > width {
                text.truncate(text.trim_end().len());
                text.push_str("\n    ");
                length = 4;
            } else if place == 0 {
                text.push(' ');
                length += 1;
            }
            text.push_str(part);
            length += part.len();
        }
    }
    text
}

fn shown(argument: &Argument) -> String {
    let inner = |between: &str| argument.kind.inner().iter().map(shown).collect::<Vec<_>>().join(between);
    let mut value = match argument.kind {
        Kind::Value(_) => argument.name.to_owned(),
        Kind::Token => String::new(),
        Kind::OneOf(_) if argument.is_optional && argument.token.is_none() => inner(" | "),
        Kind::OneOf(_) => format!("<{}>", inner(" | ")),
        Kind::Block(_) => inner(" "),
    };
    if argument.repeats == Repeats::Yes {
        value = format!("{value} [{value} ...]");
    }
    let mut whole = [argument.token.unwrap_or_default(), &value].join(" ").trim().to_owned();
    if argument.repeats == Repeats::WithToken {
        whole = format!("{whole} [{whole} ...]");
    }
    if argument.is_optional { format!("[{whole}]") } else { whole }
}

/// The notation of a form that was read, to compare with the form.
fn written(list: &[Argument], between: &str) -> String {
    list.iter().map(written_argument).collect::<Vec<_>>().join(between)
}

fn written_argument(argument: &Argument) -> String {
    let mut text = match argument.token {
        Some(token) if argument.kind != Kind::Token => format!("{token}="),
        _ => String::new(),
    };
    text.push_str(argument.name);
    match &argument.kind {
        Kind::Value("string") | Kind::Token => {}
        Kind::Value(kind) => text.push_str(&format!(":{kind}")),
        Kind::OneOf(inner) => text.push_str(&format!("({})", written(inner, " | "))),
        Kind::Block(inner) => text.push_str(&format!("{{{}}}", written(inner, " "))),
    }
    text.push_str(match argument.repeats {
        Repeats::No => "",
        Repeats::Yes => "...",
        Repeats::WithToken => "*...",
    });
    if argument.key_specification > 0 {
        text.push_str("#1");
    }
    for (mark, version) in [('@', argument.since), ('!', argument.deprecated_since)] {
        if let Some(version) = version {
            text.push(mark);
            text.push_str(version);
        }
    }
    if argument.is_optional { format!("[{text}]") } else { text }
}

#[test]
fn every_form_is_read_whole() {
    for spec in table::SPECS {
        assert_eq!(written(&arguments(spec), " "), forms::form(spec.id), "{}", spec.name);
    }
}

/// Fewest words of an argument that is given, and whether there may be more.
fn words(argument: &Argument) -> (i64, bool) {
    let inner = argument.kind.inner().iter().map(words_in_place);
    let (count, varies) = match argument.kind {
        Kind::Value(_) => (1, false),
        Kind::Token => (0, false),
        Kind::OneOf(_) => {
            let counts: Vec<_> = argument.kind.inner().iter().map(words).collect();
            let least = counts.iter().map(|(count, _)| *count).min().unwrap();
            (least, counts.iter().any(|(count, varies)| *varies || *count != least))
        }
        Kind::Block(_) => inner.fold((0, false), |sum, one| (sum.0 + one.0, sum.1 || one.1)),
    };
    (count + i64::from(argument.token.is_some()), varies || argument.repeats != Repeats::No)
}

/// The same of an argument that may be left out.
fn words_in_place(argument: &Argument) -> (i64, bool) {
    if argument.is_optional { (0, true) } else { words(argument) }
}

#[test]
fn the_form_has_as_many_words_as_the_arity_says() {
    for spec in table::SPECS {
        // Containers take a sub-command; QUIT takes words that it ignores.
        if spec.is_container() || spec.id == Id::Quit {
            continue;
        }
        let name = spec.name.split('|').count() as i64;
        let (count, varies) = arguments(spec)
            .iter()
            .map(words_in_place)
            .fold((name, false), |sum, one| (sum.0 + one.0, sum.1 || one.1));
        let arity = if varies { -count } else { count };
        assert_eq!(arity, spec.arity, "{}", usage(spec));
    }
}

#[test]
fn keys_of_the_form_are_those_of_the_table() {
    fn has_key(argument: &Argument) -> bool {
        argument.kind == Kind::Value("key") || argument.kind.inner().iter().any(has_key)
    }
    for spec in table::SPECS {
        let expected = spec.keys.0 > 0 || super::super::key_spec::is_script(spec);
        assert_eq!(arguments(spec).iter().any(has_key), expected, "{}", spec.name);
    }
}

#[test]
fn a_long_form_is_cut_between_arguments_and_between_alternatives() {
    assert_eq!(
        usage_in_lines(table::spec(Id::Set), 48),
        "SET key value [NX | XX] [GET] [EX seconds |\n    PX milliseconds | EXAT unix-time-seconds |\n    \
         PXAT unix-time-milliseconds | KEEPTTL]"
    );
    for spec in table::SPECS {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines = usage_in_lines(spec, 48);
        assert_eq!(words(&lines), words(&usage(spec)));
        assert!(lines.lines().all(|line| line.len() <= 60 && line == line.trim_end()), "{lines}");
    }
}

#[test]
fn forms_are_shown_as_people_read_them() {
    for (id, expected) in [
        (Id::Get, "GET key"),
        (
            Id::Set,
            "SET key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
        ),
        (Id::Mset, "MSET key value [key value ...]"),
        (Id::Scan, "SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]"),
        (Id::ClientReply, "CLIENT REPLY <ON | OFF | SKIP>"),
        (
            Id::ClientTracking,
            "CLIENT TRACKING <ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]",
        ),
        (Id::Hello, "HELLO [protover [AUTH username password] [SETNAME clientname]]"),
        (Id::Eval, "EVAL script numkeys [key [key ...]] [arg [arg ...]]"),
    ] {
        assert_eq!(usage(table::spec(id)), expected);
    }
}
