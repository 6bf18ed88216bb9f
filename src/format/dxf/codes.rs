//! The issue codes of DXF: `DXF1xx` framing, `DXF2xx` text, `DXF3xx` geometry, `DXF4xx` blocks, `DXF5xx` units.

use crate::issue::Code;

/// A code line is no number: a text with a line feed inside, a blank line.
pub(super) static LINES_SKIPPED: Code = Code::warning(
    "DXF101",
    "lines that are no group code were skipped",
    "look at the line named; the text before it probably holds a line feed",
);
/// The document has no EOF record but is otherwise whole.
pub(super) static NO_EOF: Code =
    Code::warning("DXF102", "document does not end with EOF", "check that the file was copied whole");
/// The last pair or record is cut off.
pub(super) static TRUNCATED: Code = Code::error(
    "DXF103",
    "document is cut off in the middle of a record",
    "get the file again; everything before the cut was read",
);
/// A section or block ends without its end mark.
pub(super) static NO_END_MARK: Code = Code::warning(
    "DXF104",
    "section or block has no end mark",
    "save the drawing again with a CAD program; nothing was left out for this reason",
);
/// A number is written in a way the format does not know.
pub(super) static NUMBER_REPAIRED: Code = Code::warning(
    "DXF105",
    "number is not written as DXF writes numbers",
    "compare the value named; a decimal comma was read as a point",
);
/// Something that should be a number is none.
pub(super) static NOT_A_NUMBER: Code = Code::error(
    "DXF106",
    "value is not a number",
    "repair the entity at the line named; it was left out if the value was a coordinate",
);
/// Bytes behind EOF.
pub(super) static AFTER_EOF: Code =
    Code::note("DXF107", "bytes after the end of the document were ignored", "nothing needs to be done");
/// Entities stand outside of a section.
pub(super) static OUTSIDE_SECTION: Code = Code::warning(
    "DXF108",
    "records stand outside of any section",
    "check what wrote the file; entities among them were read into the model",
);
/// Names of sections or entities in lower case.
pub(super) static NAME_CASE: Code =
    Code::warning("DXF109", "name of a section or entity is not in upper case", "nothing needs to be done");
/// A declared count does not fit what follows.
pub(super) static COUNT_MISMATCH: Code =
    Code::warning("DXF110", "declared count does not fit the data", "check the entity named; what is there was read");
/// The file ends its lines with carriage returns alone, begins with a byte order mark, or is UTF-16.
pub(super) static UNUSUAL_FRAMING: Code =
    Code::note("DXF111", "file has a byte order mark, old line ends or wide characters", "nothing needs to be done");
/// The words a binary file begins with have another form than they should.
pub(super) static BINARY_MARK: Code = Code::warning(
    "DXF112",
    "mark at the beginning of a binary file is damaged",
    "transfer the file again as binary; line ends in it may have been changed",
);
/// A drawing of AutoCAD 1.x.
pub(super) static FIRST_FORM: Code = Code::warning(
    "DXF113",
    "drawing has the form from before DXF had sections (AutoCAD 1.x); lines named are those of its translation",
    "save it again with a newer program if anything is missing",
);

/// A drawing whose model is empty.
pub(super) static LAYOUT_READ: Code = Code::warning(
    "DXF114",
    "the model is empty; what is drawn on the active layout was read in its place",
    "lengths are those of the paper unless the unit tells otherwise: state it with `read.metres_per_unit`",
);

/// UTF-8 in an older drawing.
pub(super) static UNEXPECTED_UTF8: Code = Code::note(
    "DXF201",
    "texts are UTF-8 although the version of the drawing says otherwise",
    "set `encoding` for this source if texts look wrong",
);
/// Not UTF-8 in a newer drawing.
pub(super) static NOT_UTF8: Code = Code::warning(
    "DXF202",
    "text is not UTF-8 although the version of the drawing says so",
    "set `encoding` for this source if texts look wrong",
);
/// A code page nobody knows.
pub(super) static UNKNOWN_CODE_PAGE: Code =
    Code::warning("DXF203", "code page is not known; Windows-1252 was assumed", "set `encoding` for this source");
/// Characters outside ASCII without a code page.
pub(super) static NO_CODE_PAGE: Code = Code::warning(
    "DXF204",
    "drawing names no code page but has characters outside ASCII; Windows-1252 was assumed",
    "set `encoding` for this source if texts look wrong",
);
/// Bytes that are no characters.
pub(super) static UNDECODABLE: Code =
    Code::warning("DXF205", "text has bytes that are no characters in its encoding", "set `encoding` for this source");

/// An entity with a coordinate that is no number.
pub(super) static NOT_FINITE: Code = Code::error(
    "DXF301",
    "entity was left out because a coordinate is missing or not a number",
    "repair or delete the entity",
);
/// An entity that draws nothing in the plan.
pub(super) static NO_EXTENT: Code = Code::note(
    "DXF302",
    "entity has no extent in the plan and was left out",
    "nothing needs to be done for vertical lines; delete the others",
);
/// A gap in a hatch boundary was closed.
pub(super) static BOUNDARY_GAP: Code = Code::warning(
    "DXF303",
    "gap in the boundary of a hatch was closed by a straight line",
    "check the area at the line named if the gap is large",
);
/// A hatch without a usable boundary.
pub(super) static NO_BOUNDARY: Code =
    Code::error("DXF304", "hatch has no usable boundary and was left out", "create the hatch again");
/// A spline whose knots, weights or degree do not fit.
pub(super) static SPLINE_REPAIRED: Code = Code::warning(
    "DXF305",
    "spline has knots, weights or a degree that do not fit; they were replaced",
    "compare the curve with its original",
);
/// Faces that name vertices that are not there.
pub(super) static FACE_INVALID: Code = Code::warning(
    "DXF306",
    "face of a mesh names a vertex that does not exist and was left out",
    "create the mesh again",
);
/// An endless line in a drawing without extents.
pub(super) static UNBOUNDED: Code = Code::warning(
    "DXF307",
    "endless line was left out because nothing else bounds the drawing",
    "draw a line of finite length",
);

/// A block is defined twice.
pub(super) static BLOCK_TWICE: Code = Code::warning(
    "DXF401",
    "block is defined more than once; the first definition was kept",
    "rename one of the blocks",
);
/// A dimension or table without a block that shows it.
pub(super) static NO_PICTURE: Code = Code::warning(
    "DXF402",
    "dimension or table has no block that draws it, nor points that do, and was left out",
    "regenerate the drawing in a CAD program and save it again",
);
/// An external drawing that was not found or could not be read.
pub(super) static EXTERNAL_MISSING: Code = Code::error(
    "DXF403",
    "external reference was not resolved",
    "bind the reference, or put the file named where references are looked for",
);
/// Attribute values without their block reference.
pub(super) static ATTRIBUTE_ALONE: Code = Code::warning(
    "DXF404",
    "attribute value stands without its block reference and was kept as a text",
    "check what wrote the file",
);
/// Clip of a block reference that cannot be used.
pub(super) static CLIP_INVALID: Code = Code::warning(
    "DXF405",
    "clip boundary of a block reference cannot be used; all of the block is shown",
    "clip the block reference again",
);
/// Layers that only entities name.
pub(super) static LAYER_UNDECLARED: Code = Code::note(
    "DXF406",
    "layer is missing from the layer table; it was created, visible and without a colour",
    "nothing needs to be done",
);
/// Rows or columns of an array that make no sense.
pub(super) static ARRAY_REPAIRED: Code = Code::warning(
    "DXF407",
    "array of block references has a negative count, or copies that coincide; one was kept",
    "check the block reference named",
);
/// A dimension without the block that draws it, drawn from its points.
pub(super) static DIMENSION_SKETCHED: Code = Code::warning(
    "DXF408",
    "dimension has no block that draws it; lines and text were drawn from its points",
    "regenerate the drawing in a CAD program and save it again if arrows and the exact wording matter",
);

/// An entity of another program with a picture.
pub(super) static PICTURED: Code = Code::note(
    "DXF409",
    "entities of another program are shown by the picture saved with them",
    "export the drawing to plain AutoCAD entities if something looks wrong",
);

/// An entity of another program with a box for a picture.
pub(super) static ONLY_A_BOX: Code = Code::warning(
    "DXF410",
    "entities of another program are known only by a box around them, and were left out",
    "set PROXYGRAPHICS to 1 in the program that has them and save again, or export to plain AutoCAD entities",
);

/// No unit, none to be inferred.
pub(super) static UNITS_ASSUMED: Code = Code::warning(
    "DXF501",
    "drawing states no unit of length; units assumed",
    "set `metres_per_unit` for this source, or $INSUNITS in the drawing",
);
/// A stated unit that makes the plan absurdly large or small.
pub(super) static UNITS_IMPLAUSIBLE: Code = Code::warning(
    "DXF502",
    "stated unit of length makes the plan implausibly large or small",
    "check $INSUNITS, or set `metres_per_unit` for this source",
);
/// Coordinates that look like longitude and latitude.
pub(super) static DEGREES: Code = Code::warning(
    "DXF503",
    "coordinates look like degrees of longitude and latitude",
    "project the drawing to metres first",
);

/// All of them.
pub static CODES: &[&Code] = &[
    &LINES_SKIPPED,
    &NO_EOF,
    &TRUNCATED,
    &NO_END_MARK,
    &NUMBER_REPAIRED,
    &NOT_A_NUMBER,
    &AFTER_EOF,
    &OUTSIDE_SECTION,
    &NAME_CASE,
    &COUNT_MISMATCH,
    &UNUSUAL_FRAMING,
    &BINARY_MARK,
    &FIRST_FORM,
    &LAYOUT_READ,
    &UNEXPECTED_UTF8,
    &NOT_UTF8,
    &UNKNOWN_CODE_PAGE,
    &NO_CODE_PAGE,
    &UNDECODABLE,
    &NOT_FINITE,
    &NO_EXTENT,
    &BOUNDARY_GAP,
    &NO_BOUNDARY,
    &SPLINE_REPAIRED,
    &FACE_INVALID,
    &UNBOUNDED,
    &BLOCK_TWICE,
    &NO_PICTURE,
    &EXTERNAL_MISSING,
    &ATTRIBUTE_ALONE,
    &CLIP_INVALID,
    &LAYER_UNDECLARED,
    &ARRAY_REPAIRED,
    &DIMENSION_SKETCHED,
    &PICTURED,
    &ONLY_A_BOX,
    &UNITS_ASSUMED,
    &UNITS_IMPLAUSIBLE,
    &DEGREES,
];
