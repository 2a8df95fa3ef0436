#![no_main]

#[path = "../../proxy/transport/src/http2/trailers/header_block.rs"]
mod header_block;
#[path = "../../proxy/transport/src/http2/trailers/huffman.rs"]
mod huffman;

use header_block::HeaderBlocks;
use libfuzzer_sys::fuzz_target;
use loona_hpack::Decoder;

fuzz_target!(|blocks: Vec<Vec<u8>>| check(&blocks));

/// Oracle: the decoder `loona-hpack`. Of each header block of a connection, until one that it refuses,
/// we know whether it has a pseudo-header, in one piece and byte by byte.
fn check(blocks: &[Vec<u8>]) {
    let (mut ours, mut bytewise, mut theirs) =
        (HeaderBlocks::default(), HeaderBlocks::default(), Decoder::new());
    theirs.set_max_allowed_table_size(4_096);
    for block in blocks {
        let Ok(fields) = theirs.decode(block) else { return };
        let expected = fields.iter().any(|(name, _)| name.starts_with(b":"));
        ours.begin();
        ours.read(block);
        bytewise.begin();
        block.iter().for_each(|byte| bytewise.read(&[*byte]));
        assert_eq!(ours.has_pseudo(), expected, "{block:02x?} is {fields:?}");
        assert_eq!(bytewise.has_pseudo(), expected, "byte by byte: {block:02x?} is {fields:?}");
    }
}
