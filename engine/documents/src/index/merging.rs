//! Merge policy: few segments, and deleted documents are merged away.

use tantivy::merge_policy::LogMergePolicy;

/// Segments of like size that become one.
const SEGMENTS_AT_ONCE: usize = 8;
/// Segments with fewer documents count as one size.
const SMALLEST: u32 = 10_000;
/// Share of deleted documents above which a segment is written anew.
const DELETED_SHARE: f32 = 0.3;

pub(super) fn policy() -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments(SEGMENTS_AT_ONCE);
    policy.set_min_layer_size(SMALLEST);
    policy.set_del_docs_ratio_before_merge(DELETED_SHARE);
    policy
}
