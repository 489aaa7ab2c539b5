//! Does the fast lane answer a request otherwise than hyper and the router would?
#![no_main]
#![allow(clippy::all, reason = "checked where the files belong")]

#[path = "../../tests/both/mod.rs"]
mod both;

use std::cell::OnceCell;

use both::{Both, normal};
use libfuzzer_sys::fuzz_target;
use plumbkv_documents_http::{Access, Served};

thread_local! {
    static BOTH: OnceCell<Both> = const { OnceCell::new() };
}

fuzz_target!(|bytes: &[u8]| {
    BOTH.with(|both| {
        let both = both.get_or_init(|| Both::new(Access::open()));
        let mut out = Vec::new();
        match both.by_lane(bytes, &mut out) {
            Served::Answered { consumed } => {
                assert_eq!(normal(&out), normal(&both.by_hyper(&bytes[..consumed])));
            }
            Served::Incomplete | Served::Other => assert!(out.is_empty()),
        }
    });
});
