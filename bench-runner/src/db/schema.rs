//! The tables, how they came to be version by version, and what keeps them append-only.

use rusqlite::{Connection, Transaction};

/// Version of the shape that the last of [`MIGRATIONS`] leaves, kept in `PRAGMA user_version`.
pub const USER_VERSION: i32 = 7;

/// Each takes an empty database (the first) or one of the version before to the next. A migration that a
/// release has run is never changed; a new shape is a new file.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/v1.sql"),
    include_str!("migrations/v2.sql"),
    include_str!("migrations/v3.sql"),
    include_str!("migrations/v4.sql"),
    include_str!("migrations/v5.sql"),
    include_str!("migrations/v6.sql"),
    include_str!("migrations/v7.sql"),
];

const _: () = assert!(MIGRATIONS.len() as i32 == USER_VERSION);

/// How the campaign of a new row is found.
#[derive(Debug, Clone, Copy)]
enum Guard {
    /// A row belongs to several campaigns, or to none: it can be added at any time, and never changed.
    Shared,
    /// The expression gives the campaign: nothing is added once that is sealed.
    Of(&'static str),
    /// A mirror of the journals: not of a finished campaign, so its rows come and go.
    Free,
}

const OF_CELL: Guard = Guard::Of("(SELECT campaign_id FROM cell WHERE cell_id = new.cell_id)");
const OF_TRIAL: Guard =
    Guard::Of("(SELECT campaign_id FROM trial JOIN cell USING (cell_id) WHERE trial_id = new.trial_id)");
const OF_CAMPAIGN: Guard = Guard::Of("new.campaign_id");

/// Every table.
const TABLES: &[(&str, Guard)] = &[
    ("machine", Guard::Shared),
    ("environment", Guard::Shared),
    ("harness", Guard::Shared),
    ("campaign", Guard::Shared),
    ("build", Guard::Shared),
    ("target", OF_CAMPAIGN),
    ("scenario", Guard::Shared),
    ("scenario_record", OF_CAMPAIGN),
    ("cell", OF_CAMPAIGN),
    ("trial", OF_CELL),
    ("open_loop", OF_TRIAL),
    ("series", Guard::Shared),
    ("value", OF_TRIAL),
    ("histogram", OF_CELL),
    ("distribution", OF_CELL),
    ("window", OF_TRIAL),
    ("os_stat", OF_TRIAL),
    ("summary", OF_CELL),
    ("ratio", Guard::Of("(SELECT campaign_id FROM cell WHERE cell_id = new.numerator_cell_id)")),
    ("component", OF_CAMPAIGN),
    ("unfinished_campaign", Guard::Free),
];

/// The version a database is of; 0: an empty one.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Takes a database from `from` to today's shape, rows and all. Foreign keys must be off meanwhile.
pub(super) fn migrate(transaction: &Transaction, from: i32) -> rusqlite::Result<()> {
    for trigger in triggers_of(transaction)? {
        transaction.execute_batch(&format!("DROP TRIGGER {trigger}"))?;
    }
    for step in MIGRATIONS.iter().skip(usize::try_from(from).unwrap_or_default()) {
        transaction.execute_batch(step)?;
    }
    for (table, guard) in TABLES {
        transaction.execute_batch(&triggers(table, *guard))?;
    }
    transaction.pragma_update(None, "user_version", USER_VERSION)
}

/// Tables and triggers that today's shape has and the database has not: somebody removed them.
pub(super) fn missing(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let has = |kind: &str, name: &str| {
        connection.query_row(
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = ?1 AND name = ?2)",
            (kind, name),
            |row| row.get::<_, bool>(0),
        )
    };
    let mut missing = Vec::new();
    for (table, guard) in TABLES {
        if !has("table", table)? {
            missing.push(format!("table {table}"));
        }
        let suffixes: &[&str] = match guard {
            Guard::Free => &[],
            Guard::Shared => &["is_not_updated", "is_not_deleted"],
            Guard::Of(_) => &["is_not_updated", "is_not_deleted", "is_sealed"],
        };
        for suffix in suffixes {
            if !has("trigger", &format!("{table}_{suffix}"))? {
                missing.push(format!("trigger {table}_{suffix}"));
            }
        }
    }
    Ok(missing)
}

fn triggers_of(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")?;
    names.query_map([], |row| row.get(0))?.collect()
}

fn triggers(table: &str, guard: Guard) -> String {
    if matches!(guard, Guard::Free) {
        return String::new();
    }
    // The one change there is: a campaign that has been entered whole is sealed.
    let sealing = if *table == *"campaign" { "WHEN old.sealed = 1" } else { "" };
    let mut text = format!(
        "CREATE TRIGGER {table}_is_not_updated BEFORE UPDATE ON {table} {sealing} \
         BEGIN SELECT RAISE(ABORT, 'rows of {table} are never changed'); END; \
         CREATE TRIGGER {table}_is_not_deleted BEFORE DELETE ON {table} \
         BEGIN SELECT RAISE(ABORT, 'rows of {table} are never deleted'); END;"
    );
    if let Guard::Of(campaign) = guard {
        text.push_str(&format!(
            "CREATE TRIGGER {table}_is_sealed BEFORE INSERT ON {table} \
             WHEN (SELECT sealed FROM campaign WHERE campaign_id = {campaign}) = 1 \
             BEGIN SELECT RAISE(ABORT, 'the campaign is finished: nothing is added to it'); END;"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_strict_and_guarded() {
        let mut connection = Connection::open_in_memory().unwrap();
        let transaction = connection.transaction().unwrap();
        migrate(&transaction, 0).unwrap();
        transaction.commit().unwrap();
        assert_eq!(missing(&connection).unwrap(), Vec::<String>::new());
        let mut statement = connection
            .prepare("SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
            .unwrap();
        let found: Vec<(String, bool)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let mut known: Vec<&str> = TABLES.iter().map(|(name, _)| *name).collect();
        known.sort_unstable();
        assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), known);
        assert!(found.iter().all(|(_, strict)| *strict), "{found:?}");
        connection.execute_batch("DROP TRIGGER value_is_sealed; DROP TABLE component").unwrap();
        assert_eq!(
            missing(&connection).unwrap(),
            [
                "trigger value_is_sealed",
                "table component",
                "trigger component_is_not_updated",
                "trigger component_is_not_deleted",
                "trigger component_is_sealed"
            ]
        );
    }
}
