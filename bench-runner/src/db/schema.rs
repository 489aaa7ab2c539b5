//! The tables and what keeps them append-only.

use rusqlite::Connection;

/// Version of the shape in `schema.sql`, kept in `PRAGMA user_version`. Raised with every change of it.
pub const USER_VERSION: i32 = 1;

/// Every table, and how the campaign of a new row is found: none where a row belongs to several campaigns.
const TABLES: &[(&str, Option<&str>)] = &[
    ("machine", None),
    ("environment", None),
    ("harness", None),
    ("campaign", None),
    ("build", None),
    ("target", Some("new.campaign_id")),
    ("scenario", None),
    ("cell", Some("new.campaign_id")),
    ("trial", Some(OF_CELL)),
    ("series", None),
    ("value", Some(OF_TRIAL)),
    ("histogram", Some(OF_CELL)),
    ("window", Some(OF_TRIAL)),
    ("os_stat", Some(OF_TRIAL)),
    ("summary", Some(OF_CELL)),
    ("ratio", Some("(SELECT campaign_id FROM cell WHERE cell_id = new.numerator_cell_id)")),
    ("component", Some("new.campaign_id")),
];
const OF_CELL: &str = "(SELECT campaign_id FROM cell WHERE cell_id = new.cell_id)";
const OF_TRIAL: &str =
    "(SELECT campaign_id FROM trial JOIN cell USING (cell_id) WHERE trial_id = new.trial_id)";

/// Makes the tables, views and triggers of an empty database.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(include_str!("schema.sql"))?;
    for (table, campaign) in TABLES {
        connection.execute_batch(&triggers(table, *campaign))?;
    }
    connection.pragma_update(None, "user_version", USER_VERSION)
}

fn triggers(table: &str, campaign: Option<&str>) -> String {
    // The one change there is: a campaign that has been entered whole is sealed.
    let sealing = if *table == *"campaign" { "WHEN old.sealed = 1" } else { "" };
    let mut text = format!(
        "CREATE TRIGGER {table}_is_not_updated BEFORE UPDATE ON {table} {sealing} \
         BEGIN SELECT RAISE(ABORT, 'rows of {table} are never changed'); END; \
         CREATE TRIGGER {table}_is_not_deleted BEFORE DELETE ON {table} \
         BEGIN SELECT RAISE(ABORT, 'rows of {table} are never deleted'); END;"
    );
    if let Some(campaign) = campaign {
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
        let connection = Connection::open_in_memory().unwrap();
        create(&connection).unwrap();
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
    }
}
