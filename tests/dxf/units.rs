//! The unit of length: stated, overruled, or inferred with a word about it.

use super::*;

fn units_of(header: &str, entities: &str, options: &ReadOptions) -> (f64, String, Issues) {
    let document = Document::new(entities).header(header);
    let read = read_with(&document.bytes(), options).unwrap();
    (read.drawing.units.metres_per_unit, read.drawing.units.from, read.issues)
}

const OUTLINE: &str = "0|LWPOLYLINE|8|0|90|4|70|1|10|0|20|0|10|5000|20|0|10|5000|20|4000|10|0|20|4000";

#[test]
fn stated_units_win_over_the_system_of_measurement() {
    let (metres, from, issues) =
        units_of("9|$INSUNITS|70|1|9|$MEASUREMENT|70|1", &line(0.0, 0.0, 100.0, 0.0), &ReadOptions::default());
    assert_eq!((metres, from.as_str()), (0.0254, "$INSUNITS"));
    assert!(issues.is_empty(), "{:?}", codes(&issues));
}

#[test]
fn the_user_wins_over_the_drawing() {
    let options = ReadOptions { metres_per_unit: Some(0.01), ..ReadOptions::default() };
    let (metres, from, _) = units_of("9|$INSUNITS|70|1", &line(0.0, 0.0, 100.0, 0.0), &options);
    assert_eq!((metres, from.as_str()), (0.01, "config"));
}

#[test]
fn missing_units_are_never_a_silent_guess() {
    for (header, expected, from) in [
        ("9|$INSUNITS|70|0", 0.001, "inferred"),
        ("9|$ACADVER|1|AC1009", 0.001, "inferred"),
        ("9|$MEASUREMENT|70|1", 0.001, "$MEASUREMENT (metric), inferred"),
        ("9|$MEASUREMENT|70|0", 0.0254, "$MEASUREMENT (imperial), inferred"),
    ] {
        let (metres, found, issues) = units_of(header, OUTLINE, &ReadOptions::default());
        assert_eq!((metres, found.as_str()), (expected, from), "{header}");
        assert_eq!(count(&issues, "DXF501"), 1);
    }
    let (metres, from, issues) = units_of("9|$INSUNITS|70|0", "", &ReadOptions::default());
    assert_eq!((metres, from.as_str(), count(&issues, "DXF501")), (0.001, "assumed", 1));
}

#[test]
fn absurd_units_and_degrees_are_told() {
    let (_, _, issues) =
        units_of("9|$INSUNITS|70|6", "0|LINE|8|0|10|0|20|0|11|90000|21|60000", &ReadOptions::default());
    assert_eq!(count(&issues, "DXF502"), 1);
    let degrees = "0|LINE|8|0|10|15.43|20|47.06|11|15.4303|21|47.0602";
    let (_, _, issues) = units_of("9|$INSUNITS|70|6", degrees, &ReadOptions::default());
    assert_eq!(count(&issues, "DXF503"), 1);
}
