//! A second opinion: what `cadkit-dxf` counts in the same bytes.

use super::families::{ours, theirs};
use super::*;

#[track_caller]
fn assert_agree(bytes: &Bytes) {
    let drawing = read(bytes).drawing;
    // The parts of a polyline are no entities of their own, in no count.
    for counts in [&drawing.census, &drawing.unsupported, &drawing.other_sheets] {
        assert!(!counts.contains_key("VERTEX") && !counts.contains_key("SEQEND"), "{counts:?}");
    }
    assert_eq!(Ok(ours(&drawing)), theirs(bytes));
}

#[test]
fn the_same_counts_in_text_and_binary() {
    let sample = sample();
    assert_agree(&sample.bytes());
    assert_agree(&binary(&sample.text(), true));
}

#[test]
fn the_same_counts_in_many_random_drawings() {
    let kinds = [
        line(0.0, 0.0, 1.0, 0.0),
        "0|CIRCLE|8|A|10|0|20|0|40|1".to_owned(),
        "0|TEXT|8|A|10|0|20|0|40|1|1|x".to_owned(),
        "0|INSERT|8|A|2|DOOR|10|0|20|0".to_owned(),
        "0|LWPOLYLINE|8|A|90|2|70|0|10|0|20|0|10|1|20|1".to_owned(),
        "0|POLYLINE|8|A|66|1|0|VERTEX|8|A|10|0|20|0|0|VERTEX|8|A|10|1|20|0|0|SEQEND|8|A".to_owned(),
        "0|3DSOLID|8|A|1|x".to_owned(),
        "0|RAY|8|A|10|0|20|0|11|1|21|0".to_owned(),
        "0|POINT|8|A|67|1|10|0|20|0".to_owned(),
    ];
    for seed in 0..20usize {
        let entities: Vec<&str> =
            (0..30).map(|index| kinds[(seed * 7 + index * index + index * seed) % kinds.len()].as_str()).collect();
        let document = Document { entities: pairs(&entities.join("|")), ..sample() };
        assert_agree(&document.bytes());
    }
}
