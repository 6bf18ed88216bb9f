//! JSON Schema (2020-12) of an output, for programs that read it; shipped as `schemas/featurecollection.json`.
//!
//! It is written by hand, like the output itself, and held to it by a test that validates outputs against it. Members
//! of `metadata` and of features are named in full and unknown ones refused, so a new member cannot slip in
//! without being described.

use serde_json::{Value, json};

use super::metadata::SCHEMA;

/// The schema of a FeatureCollection.
pub fn featurecollection() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://plan2geo.example/schemas/featurecollection.json",
        "title": "plan2geo FeatureCollection",
        "description": "One drawing, or one page of a document, as RFC 7946 GeoJSON.",
        "type": "object",
        "required": ["type", "metadata", "features"],
        "additionalProperties": false,
        "properties": {
            "type": {"const": "FeatureCollection"},
            "metadata": metadata(),
            "bbox": {
                "description": "West, south, east, north of all features; absent without features.",
                "type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4
            },
            "features": {"type": "array", "items": feature()}
        },
        "$defs": {
            "count": {"type": "integer", "minimum": 0},
            "counts": {"type": "object", "additionalProperties": {"$ref": "#/$defs/count"}},
            "position": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
            "line": {"type": "array", "items": {"$ref": "#/$defs/position"}, "minItems": 2},
            "ring": {"type": "array", "items": {"$ref": "#/$defs/position"}, "minItems": 4},
            "polygon": {"type": "array", "items": {"$ref": "#/$defs/ring"}, "minItems": 1},
            "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "issue": issue(),
            "side": {
                "description": "A room by its index in the room graph, the outside of the level, or unknown.",
                "oneOf": [
                    {"type": "object", "required": ["room"], "additionalProperties": false,
                     "properties": {"room": {"$ref": "#/$defs/count"}}},
                    {"enum": ["outside", "unknown"]}
                ]
            }
        }
    })
}

fn metadata() -> Value {
    let nullable = |kind: &str| json!({"type": [kind, "null"]});
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": [
            "schema", "source", "source_format", "source_sha256", "floor_level", "level_name", "trace_id", "request_id",
            "topology_hash", "units", "crs", "counts", "layers", "issues", "generator"
        ],
        "properties": {
            "schema": {"const": SCHEMA},
            "source": {"description": "Name of the document, as its source names it.", "type": "string"},
            "page": {"description": "From 1.", "type": "integer", "minimum": 1},
            "source_format": {"enum": ["dxf", "dwg", "svg", "pdf"]},
            "source_version": {"type": "string"},
            "application": {"type": "string"},
            "source_sha256": {"$ref": "#/$defs/sha256"},
            "floor_level": {"description": "0 is the ground floor; null if unknown.", "type": ["integer", "null"]},
            "level_name": nullable("string"),
            "trace_id": nullable("string"),
            "request_id": nullable("string"),
            "topology_hash": {"$ref": "#/$defs/sha256"},
            "units": {
                "type": "object",
                "additionalProperties": false,
                "required": ["metres_per_unit", "from"],
                "properties": {
                    "metres_per_unit": {"type": "number", "exclusiveMinimum": 0},
                    "from": {"type": "string"},
                    "confidence": {"type": "number", "minimum": 0, "maximum": 1}
                }
            },
            "crs": {"description": "local-metres, or the coordinate system of all coordinates.", "type": "string"},
            "georeference": {
                "description": "Where the drawing says it lies on Earth; not applied to coordinates.",
                "type": "object",
                "additionalProperties": false,
                "required": ["system", "design_point", "reference_point", "north", "scale"],
                "properties": {
                    "system": {"description": "An identifier, or a definition.", "type": "string"},
                    "design_point": {"description": "Local metres.", "$ref": "#/$defs/position"},
                    "reference_point": {
                        "description": "The same point in the system; longitude, latitude where it has degrees.",
                        "$ref": "#/$defs/position"
                    },
                    "north": {"description": "Of unit length, in local metres.", "$ref": "#/$defs/position"},
                    "scale": {"description": "Units of the system in a metre; metres where it has degrees.", "type": "number"}
                }
            },
            "counts": counts(),
            "layers": {"type": "array", "items": layer_class()},
            "views": {"description": "Drawings on the sheet, if it holds several.", "type": "array", "items": view()},
            "adjacency": {
                "type": "object",
                "additionalProperties": false,
                "required": ["passages", "unreachable"],
                "properties": {
                    "passages": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": false,
                            "required": ["from", "to", "opening", "width_m"],
                            "properties": {
                                "from": {"$ref": "#/$defs/side"},
                                "to": {"$ref": "#/$defs/side"},
                                "opening": {"$ref": "#/$defs/count"},
                                "width_m": {"type": "number"}
                            }
                        }
                    },
                    "unreachable": {"type": "array", "items": {"$ref": "#/$defs/count"}}
                }
            },
            "issues": {
                "type": "object",
                "propertyNames": {"pattern": "^[A-Z]+[0-9]{3}$"},
                "additionalProperties": {"$ref": "#/$defs/issue"}
            },
            "generator": {"type": "string"}
        }
    })
}

fn view() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["index", "kind", "bbox", "rooms", "confidence", "reason"],
        "properties": {
            "index": {"$ref": "#/$defs/count"},
            "kind": {"enum": [
                "plan", "elevation", "section", "detail", "perspective", "site", "roof", "legend", "title_block", "unknown"
            ]},
            "title": {"type": "string"},
            "floor_level": {"type": "integer"},
            "level_name": {"type": "string"},
            "bbox": {"description": "Left, bottom, right, top; local metres.", "type": "array",
                     "items": {"type": "number"}, "minItems": 4, "maxItems": 4},
            "rooms": {"$ref": "#/$defs/count"},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "reason": {"type": "string"}
        }
    })
}

fn counts() -> Value {
    let (count, by_name) = (json!({"$ref": "#/$defs/count"}), json!({"$ref": "#/$defs/counts"}));
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": [
            "features", "classes", "read", "shapes", "shapes_by_layer", "hidden", "clipped", "dropped", "omitted",
            "unsupported", "other_sheets", "vertices"
        ],
        "properties": {
            "features": count,
            "classes": by_name,
            "read": by_name,
            "shapes": by_name,
            "shapes_by_layer": by_name,
            "hidden": {
                "type": "object",
                "additionalProperties": false,
                "required": ["total", "by_layer", "by_entity"],
                "properties": {"total": count, "by_layer": by_name, "by_entity": by_name}
            },
            "clipped": count,
            "dropped": count,
            "omitted": count,
            "unsupported": by_name,
            "other_sheets": by_name,
            "vertices": count,
            "chars": count,
            "plan": {"description": "Counts of the derivation of rooms.", "type": "object"}
        }
    })
}

fn layer_class() -> Value {
    json!({
        "type": "object",
        "required": ["layer", "role", "confidence", "source", "reason", "shapes", "length_m"],
        "properties": {
            "layer": {"type": "string"},
            "role": {"type": "string"},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "source": {"enum": ["config", "name", "geometry", "none"]},
            "reason": {"type": "string"},
            "shapes": {"$ref": "#/$defs/count"},
            "length_m": {"type": "number", "minimum": 0},
            "suggestion": {"type": ["string", "null"]}
        }
    })
}

fn issue() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["severity", "title", "fixed", "count", "samples"],
        "properties": {
            "severity": {"enum": ["note", "warning", "error"]},
            "title": {"type": "string"},
            "fixed": {"type": "boolean"},
            "count": {"type": "integer", "minimum": 1},
            "samples": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["at", "detail"],
                    "properties": {
                        "at": {
                            "description": "null is the document as a whole; else a line, a byte, or metres in the local frame.",
                            "oneOf": [
                                {"type": "null"},
                                {"type": "object", "required": ["line"], "additionalProperties": false,
                                 "properties": {"line": {"type": "integer"}}},
                                {"type": "object", "required": ["byte"], "additionalProperties": false,
                                 "properties": {"byte": {"type": "integer"}}},
                                {"type": "object", "required": ["x", "y"], "additionalProperties": false,
                                 "properties": {"x": {"type": "number"}, "y": {"type": "number"}}}
                            ]
                        },
                        "detail": {"type": "string"}
                    }
                }
            }
        }
    })
}

fn feature() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["type", "id", "geometry", "properties"],
        "properties": {
            "type": {"const": "Feature"},
            "id": {"description": "Unique in the collection, and the same from run to run.", "type": "string", "minLength": 1},
            "geometry": geometry(),
            "properties": properties()
        }
    })
}

fn geometry() -> Value {
    let of = |kind: &str, coordinates: Value| {
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["type", "coordinates"],
            "properties": {"type": {"const": kind}, "coordinates": coordinates}
        })
    };
    let several = |part: &str| json!({"type": "array", "items": {"$ref": part}, "minItems": 2});
    json!({
        "oneOf": [
            of("Point", json!({"$ref": "#/$defs/position"})),
            of("LineString", json!({"$ref": "#/$defs/line"})),
            of("MultiLineString", several("#/$defs/line")),
            of("Polygon", json!({"$ref": "#/$defs/polygon"})),
            of("MultiPolygon", several("#/$defs/polygon"))
        ]
    })
}

fn properties() -> Value {
    let mut members = entity_properties();
    if let (Some(all), Value::Object(derived)) = (members.as_object_mut(), derived_properties()) {
        all.extend(derived);
    }
    json!({"type": "object", "additionalProperties": false, "required": ["class"], "properties": members})
}

/// Members of entities of the drawing.
fn entity_properties() -> Value {
    let (text, number) = (json!({"type": "string"}), json!({"type": "number"}));
    let length = json!({"type": "number", "minimum": 0});
    let names = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let classes = json!([
        "room",
        "wall",
        "door",
        "window",
        "opening",
        "level",
        "label",
        "line",
        "area",
        "point",
        "symbol",
        "diagnostic"
    ]);
    json!({
        "class": {"enum": classes},
        "name": text,
        "layer": text,
        "entity": text,
        "handle": {"type": "string", "pattern": "^[0-9A-F]+$"},
        "source_id": text,
        "tag": text,
        "rotation": {"type": "number", "minimum": 0, "maximum": 360},
        "height_m": length,
        "label_kind": {"enum": ["number", "name", "area", "other"]},
        "room": {"type": "string", "pattern": "^room/[0-9]+$"},
        "block": text,
        "scale": {"type": "array", "items": number, "minItems": 2, "maxItems": 2},
        "attributes": names,
        "colour": {"type": "string", "pattern": "^#[0-9a-f]{6}$"},
        "width_m": length,
        "source": names,
        "visible": {"const": false}
    })
}

/// Members of rooms, walls, openings, levels and diagnostics.
fn derived_properties() -> Value {
    let (text, length) = (json!({"type": "string"}), json!({"type": "number", "minimum": 0}));
    let position = json!({"$ref": "#/$defs/position"});
    let rooms = json!({
        "description": "The rooms left and right of an opening.",
        "type": "array",
        "items": {"type": ["string", "null"]},
        "minItems": 2,
        "maxItems": 2
    });
    json!({
        "number": text,
        "room_name": text,
        "usage": text,
        "view": {"description": "The drawing on the sheet, by its index in metadata.views.", "$ref": "#/$defs/count"},
        "level_name": text,
        "area_m2": length,
        "stated_area_m2": length,
        "perimeter_m": length,
        "label_point": position,
        "texts": {"type": "array", "items": text},
        "origin": {"enum": ["derived", "drawn"]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "reason": text,
        "part": {"enum": ["centre_line", "body"]},
        "thickness_m": length,
        "length_m": length,
        "nodes": {"type": "array", "items": {"$ref": "#/$defs/count"}, "minItems": 2, "maxItems": 2},
        "exterior": {"type": "boolean"},
        "kind": {"enum": ["door", "double_door", "sliding_door", "window", "gap"]},
        "depth_m": length,
        "rooms": rooms,
        "room_count": {"$ref": "#/$defs/count"},
        "hinges": {"type": "array", "items": position},
        "swing": position,
        "floor_level": {"type": ["integer", "null"]},
        "code": text,
        "detail": text
    })
}
