//! The nodes of an index: which neighbours share so much that they are searched behind it.
//!
//! Heads are the eight bytes of a key behind what all keys of its node share. A node whose keys have
//! long runs of equal heads gets children: each such run is one, in which all keys share the head and
//! what comes behind it, and so are the keys between two runs. This follows from how many bytes each key
//! shares with the one before, so no keys are needed for it.

/// Bytes of a head.
pub(super) const HEAD: usize = 8;

/// Keys with equal heads that are no node: a search by halves compares four or five of them.
const FEW: usize = 16;

/// So many bytes of memory make a node worth while for fewer keys.
const SAVED: usize = 256;

/// Levels. Keys that are beginnings of each other can have one for every eight bytes; below the last level they are searched by halves.
const MAX_LEVELS: u8 = 32;

/// Blocks that follow each other, and either are searched by their heads or belong to nodes below.
#[derive(Debug, Default, Clone)]
pub(super) struct Node {
    /// The first block, and the one behind the last.
    pub(super) from: u32,
    pub(super) to: u32,
    /// The nodes below: the first of them, and how many.
    pub(super) first: u32,
    pub(super) count: u32,
    /// Bytes that all keys share, and how many of them the nodes above account for, the head included.
    pub(super) base: u32,
    pub(super) skipped: u32,
    /// Where the others are.
    pub(super) shared_at: usize,
    pub(super) shared_len: u32,
    /// All keys have the same head in the node above.
    pub(super) is_run: bool,
    level: u8,
}

/// The nodes for keys of which each shares so many bytes with the one before; of the first one, its length. The one for all of them, and those below.
pub(super) fn nodes(shares: &[u32]) -> (Node, Vec<Node>) {
    let base = shares.get(1..).and_then(|rest| rest.iter().min()).or(shares.first());
    let root = Node { to: shares.len() as u32, base: base.copied().unwrap_or(0), ..Node::default() };
    let (mut nodes, mut at) = (Vec::new(), 0);
    let root = split(root, shares, &mut nodes);
    while at < nodes.len() {
        if nodes[at].is_run {
            nodes[at] = split(std::mem::take(&mut nodes[at]), shares, &mut nodes);
        }
        at += 1;
    }
    nodes.shrink_to_fit();
    (root, nodes)
}

/// Gives a node those below it, where some are worth while.
fn split(mut node: Node, shares: &[u32], nodes: &mut Vec<Node>) -> Node {
    let first = nodes.len();
    if node.level == MAX_LEVELS {
        return node;
    }
    let same_head = node.base + HEAD as u32;
    let between = |from, to| Node { from, to, base: node.base, skipped: node.base, ..Node::default() };
    // Where the run begins that goes on, and what was put into no node.
    let (mut start, mut left, mut shared) = (node.from, node.from, u32::MAX);
    for at in node.from + 1..=node.to {
        if at < node.to && shares[at as usize] >= same_head {
            shared = shared.min(shares[at as usize]);
            continue;
        }
        let count = (at - start) as usize;
        if count > 1 && (count > FEW || (count - 1) * (shared - same_head) as usize >= SAVED) {
            if left < start {
                nodes.push(between(left, start));
            }
            nodes.push(Node {
                from: start,
                to: at,
                base: shared,
                skipped: same_head,
                is_run: true,
                level: node.level + 1,
                ..Node::default()
            });
            left = at;
        }
        (start, shared) = (at, u32::MAX);
    }
    if nodes.len() > first && left < node.to {
        nodes.push(between(left, node.to));
    }
    (node.first, node.count) = (first as u32, (nodes.len() - first) as u32);
    node
}
