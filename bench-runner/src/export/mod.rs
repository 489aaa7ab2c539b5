//! Not yet split up.
