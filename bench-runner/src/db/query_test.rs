//! Can a question change anything, and does a wrong one say where it is wrong?

use super::*;
use crate::db::store;
use crate::export::testing::small_run_as;
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(60);

struct Stored {
    folder: tempfile::TempDir,
}

impl Stored {
    fn new() -> Self {
        let stored = Self { folder: tempfile::tempdir().unwrap() };
        let (run, scenarios) = small_run_as("r1", "local", "2026-01-01T00:00:00Z");
        store(&stored.path(), &run, &scenarios).unwrap();
        stored
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("all.sqlite")
    }

    fn refused(&self, sql: &str) -> String {
        query(&self.path(), sql, PATIENCE).unwrap_err().to_string()
    }
}

#[test]
fn questions_cannot_change_anything() {
    let stored = Stored::new();
    let other = stored.folder.path().join("other.sqlite");
    let bytes = || std::fs::read(stored.path()).unwrap();
    let before = bytes();
    for sql in [
        "DROP VIEW measurement".to_owned(),
        "INSERT INTO harness VALUES (7, 'x', 'y')".to_owned(),
        "WITH x AS (SELECT 1) INSERT INTO harness SELECT 7, 'x', 'y' FROM x".to_owned(),
        "PRAGMA user_version = 9".to_owned(),
        "-- SELECT\nDELETE FROM campaign".to_owned(),
        format!("VACUUM INTO '{}'", other.display()),
        format!("ATTACH '{}' AS other", other.display()),
        "SELECT 1; DELETE FROM campaign".to_owned(),
        String::new(),
    ] {
        let said = stored.refused(&sql);
        assert!(said.contains("read-only") || said.contains("more than one statement"), "{sql}: {said}");
    }
    assert!(bytes() == before && !other.exists());
}

#[test]
fn answers_keep_their_types() {
    let stored = Stored::new();
    let sql = " /* all */ SELECT 1 AS a, NULL AS b, 'x' AS c, x'0102' AS d, 1.5 AS e; ";
    let answer = query(&stored.path(), sql, PATIENCE).unwrap();
    assert_eq!(answer.columns, ["a", "b", "c", "d", "e"]);
    assert_eq!(answer.rows, [[json!(1), Value::Null, "x".into(), "2 bytes".into(), json!(1.5)]]);
    for sql in [
        "VALUES (1)",
        "(SELECT 1)",
        "WITH one AS (SELECT 1) SELECT * FROM one",
        "explain query plan SELECT 1",
    ] {
        let answered = query(&stored.path(), sql, PATIENCE);
        assert!(answered.is_ok() || sql.starts_with('('), "{sql}: {answered:?}");
    }
}

#[test]
fn a_wrong_question_says_where() {
    let stored = Stored::new();
    let said = stored.refused("SELECT run_id,\n  wrong FROM campaign");
    assert!(said.contains("no such column: wrong (line 2, column 3, at 'wrong FROM"), "{said}");
    let said = stored.refused("SELECT * FROM campaign WHERE (");
    assert!(said.contains("invalid SQL") && said.contains("incomplete"), "{said}");
    let none = query(&stored.folder.path().join("none"), "SELECT 1", PATIENCE).unwrap_err().to_string();
    assert!(none.contains("no database at"), "{none}");
}

#[test]
fn a_question_without_an_end_is_ended() {
    let stored = Stored::new();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let started = Instant::now();
    let said = query(&stored.path(), endless, Duration::from_millis(200)).unwrap_err().to_string();
    assert!(said.contains("no result after 0.2 s") && said.contains("--timeout-s"), "{said}");
    assert!(started.elapsed() < Duration::from_secs(30));
}
