"""Compares plan2geo with GDAL's DXF driver: length of lines and area of polygons per layer, blocks expanded.

    cargo run --release --example dxf_survey -- FILES… > survey.jsonl
    python benches/peers/ogr_compare.py survey.jsonl

Needs ogr2ogr. GDAL gives model and paper space together and draws dimensions, leaders and meshes its own way, so files
with such entities are compared without the layers these stand on; see docs/formats.md for what differs and why.
"""

import json
import math
import subprocess
import sys
from collections import defaultdict

TOLERANCE = 0.01
LINES = {"LINE", "ARC", "CIRCLE", "ELLIPSE", "SPLINE", "LWPOLYLINE", "POLYLINE"}
FILLS = {"HATCH", "SOLID", "TRACE", "3DFACE"}
OWN_WAY = {"DIMENSION", "LEADER", "MULTILEADER", "MLINE", "ACAD_TABLE", "MESH", "3DSOLID", "REGION", "WIPEOUT", "IMAGE", "RAY", "XLINE"}


def length(points):
    return sum(math.dist(a[:2], b[:2]) for a, b in zip(points, points[1:]))


def ring_area(points):
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(points, points[1:]))) / 2


def measure(geometry):
    """Length of lines and area of polygons in a geometry; holes are taken off."""
    kind = geometry["type"]
    if kind == "LineString":
        return length(geometry["coordinates"]), 0.0
    if kind == "MultiLineString":
        return sum(length(line) for line in geometry["coordinates"]), 0.0
    if kind in ("Polygon", "MultiPolygon"):
        polygons = [geometry["coordinates"]] if kind == "Polygon" else geometry["coordinates"]
        return 0.0, sum(ring_area(p[0]) - sum(map(ring_area, p[1:])) for p in polygons if p)
    if kind == "GeometryCollection":
        parts = [measure(part) for part in geometry["geometries"]]
        return sum(p[0] for p in parts), sum(p[1] for p in parts)
    return 0.0, 0.0


def main():
    differences = compared = refused = 0
    for line in open(sys.argv[1]):
        ours = json.loads(line)
        name = ours["file"]
        if "error" in ours or "error" in ours["expanded"]:
            continue
        kinds = set(ours["read"]) | set(ours["unsupported"]) | set(ours["sheets"])
        if kinds & OWN_WAY or ours["sheets"]:
            continue
        run = subprocess.run(
            ["ogr2ogr", "-f", "GeoJSON", "/vsistdout/", name, "--config", "DXF_MERGE_BLOCK_GEOMETRIES", "FALSE"],
            capture_output=True,
            timeout=300,
        )
        try:
            features = json.loads(run.stdout)["features"]
        except ValueError:
            refused += 1
            print(f"{name}: ogr2ogr fails: {run.stderr[:120]!r}")
            continue
        compared += 1
        theirs = {"length": defaultdict(float), "area": defaultdict(float)}
        for feature in features:
            if feature["geometry"]:
                layer = (feature["properties"].get("Layer") or "").casefold()
                a, b = measure(feature["geometry"])
                theirs["length"][layer] += a
                theirs["area"][layer] += b
        found = []
        for what, wanted in (("length", LINES), ("area", FILLS)):
            mine = defaultdict(float)
            for layer, values in ours["expanded"].items():
                mine[layer.casefold()] += sum(v for kind, v in values[what].items() if kind in wanted)
            for layer in sorted(set(mine) | set(theirs[what])):
                a, b = mine[layer], theirs[what][layer]
                if abs(a - b) > TOLERANCE * max(abs(a), abs(b)) and max(abs(a), abs(b)) > 1e-9:
                    found.append(f"  {what} of `{layer}`: {a:.6g}, GDAL {b:.6g}")
        if found:
            differences += 1
            print(name, run.stderr.decode(errors="replace").strip()[:150])
            print("\n".join(found))
    print(f"{compared} files compared, {differences} with differences, {refused} that ogr2ogr refuses")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
