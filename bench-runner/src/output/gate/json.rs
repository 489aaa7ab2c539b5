//! The gate as the file that travels: `gate.json`.

use crate::export::canonical;
use crate::model::Gate;

/// The one text of this gate, as records are spelled.
///
/// # Errors
/// When the gate cannot be expressed in JSON, which a change of the model's types could bring about.
pub fn json(gate: &Gate) -> Result<String, serde_json::Error> {
    canonical::to_text(gate)
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn the_text_reads_back_as_the_same_gate() {
        let gate = testing::gate();
        let text = json(&gate).unwrap();
        assert_eq!(serde_json::from_str::<Gate>(&text).unwrap(), gate);
        assert!(text.starts_with("{\n  \"schema\": \"plumbkv.gate\",\n  \"schema_version\": 2,\n"), "{text}");
    }
}
