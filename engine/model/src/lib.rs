//! Does the durable store do what others do? `tests/` compares it with a sorted map and with fjall; a crate of its own, so that nobody builds fjall who does not ask for it
//! (`make test-model`).
