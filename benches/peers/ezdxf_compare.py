"""Compares plan2geo with ezdxf on DXF files: labels, length of lines and area of fills per layer, blocks expanded.

    pip install ezdxf
    cargo run --release --example dxf_survey -- FILES… > survey.jsonl
    python benches/peers/ezdxf_compare.py survey.jsonl

Prints every layer of every file that differs by more than 1 %, with both numbers; exits with 1 if there is any.
Layers are compared case-folded. Files ezdxf cannot load are named and skipped.
"""

import json
import math
import sys
from collections import defaultdict

import ezdxf
from ezdxf import path, recover
from ezdxf.entities import DXFGraphic

TOLERANCE = 0.01
LINES = {"LINE", "ARC", "CIRCLE", "ELLIPSE", "SPLINE", "HELIX", "LWPOLYLINE", "POLYLINE"}
FILLS = {"HATCH", "MPOLYGON", "SOLID", "TRACE", "3DFACE"}
LABELS = {"TEXT", "MTEXT", "ATTRIB", "ATTDEF", "INSERT"}
PICTURES = {"DIMENSION", "ARC_DIMENSION", "LARGE_RADIAL_DIMENSION", "ACAD_TABLE"}


class Layers:
    def __init__(self):
        self.length = defaultdict(float)
        self.area = defaultdict(float)
        self.labels = defaultdict(list)
        self.skipped = defaultdict(int)


def flat(curve, size):
    """Points of a path in the plan, flattened as finely as plan2geo does."""
    try:
        return [(p.x, p.y) for p in curve.flattening(max(size * 0.0005, 1e-9), segments=16)]
    except (ValueError, ZeroDivisionError):
        return []


def length(points):
    return sum(math.dist(a, b) for a, b in zip(points, points[1:]))


def area(points):
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(points, points[1:] + points[:1]))) / 2


def inside(ring, at):
    odd = False
    for (ax, ay), (bx, by) in zip(ring, ring[1:] + ring[:1]):
        if (ay > at[1]) != (by > at[1]) and at[0] < (bx - ax) * (at[1] - ay) / (by - ay) + ax:
            odd = not odd
    return odd


def even_odd(rings):
    total = 0.0
    for index, ring in enumerate(rings):
        depth = sum(inside(other, ring[0]) for n, other in enumerate(rings) if n != index)
        total += area(ring) * (1 if depth % 2 == 0 else -1)
    return total


def walk(entities, outer, out, depth=0):
    if depth > 32:
        return
    for entity in entities:
        kind = entity.dxftype()
        own = entity.dxf.get("layer", "0")
        layer = outer if own == "0" and outer is not None else own
        key = layer.casefold()
        if kind == "INSERT":
            inserts = entity.multi_insert() if entity.mcount > 1 else [entity]
            for attribute in entity.attribs:
                own = attribute.dxf.get("layer", "0")
                name = (layer if own == "0" else own).casefold()
                text = attribute.virtual_mtext_entity().plain_text() if attribute.has_embedded_mtext_entity else attribute.plain_text()
                out.labels[name].append(text)
            if entity.block() is None or entity.block().block.is_xref:
                continue
            for single in inserts:
                walk(single.virtual_entities(skipped_entity_callback=lambda e, _: skip(out, e)), layer, out, depth + 1)
        elif kind in PICTURES:
            try:
                walk(entity.virtual_entities(), layer, out, depth + 1)
            except Exception:
                out.skipped[kind] += 1
        elif kind in LINES:
            mode = entity.get_mode() if kind == "POLYLINE" else ""
            if mode in ("AcDbPolygonMesh", "AcDbPolyFaceMesh"):
                out.skipped["mesh"] += 1
                continue
            try:
                curve = path.make_path(entity)
            except Exception:
                out.skipped[kind] += 1
                continue
            size = curve.control_vertices()
            box = max((max(p[i] for p in size) - min(p[i] for p in size)) for i in (0, 1)) if size else 0
            out.length[key] += length(flat(curve, box))
        elif kind in ("HATCH", "MPOLYGON"):
            try:
                rings = []
                for curve in path.from_hatch(entity):
                    points = curve.control_vertices()
                    box = max((max(p[i] for p in points) - min(p[i] for p in points)) for i in (0, 1)) if points else 0
                    ring = flat(curve, box)
                    if len(ring) > 2:
                        rings.append(ring)
                out.area[key] += even_odd(rings)
            except Exception:
                out.skipped[kind] += 1
        elif kind in FILLS:
            points = [(p.x, p.y) for p in entity.wcs_vertices()]
            out.area[key] += area(points)
        elif kind == "TEXT":
            out.labels[key].append(entity.plain_text())
        elif kind == "ATTDEF":
            if depth == 0:
                out.labels[key].append(entity.dxf.tag)
            elif entity.is_const:
                out.labels[key].append(entity.plain_text())
        elif kind == "MTEXT":
            out.labels[key].append(entity.plain_text())
        else:
            out.skipped[kind] += 1


def skip(out, entity):
    out.skipped[entity.dxftype()] += 1


def load(name):
    try:
        return ezdxf.readfile(name)
    except Exception:
        document, _ = recover.readfile(name)
        return document


def main():
    differences = compared = refused = 0
    for line in open(sys.argv[1]):
        ours = json.loads(line)
        name = ours["file"]
        if "error" in ours:
            print(f"{name}: plan2geo refuses: {ours['error']}")
            continue
        if "error" in ours["expanded"]:
            print(f"{name}: plan2geo cannot expand: {ours['expanded']['error']}")
            continue
        try:
            document = load(name)
            theirs = Layers()
            walk(document.modelspace(), None, theirs)
        except Exception as error:
            refused += 1
            print(f"{name}: ezdxf refuses: {error!r}"[:200])
            continue
        compared += 1
        mine = Layers()
        for layer, values in ours["expanded"].items():
            key = layer.casefold()
            mine.length[key] += sum(length for kind, length in values["length"].items() if kind in LINES)
            mine.area[key] += sum(area for kind, area in values["area"].items() if kind in FILLS)
            mine.labels[key] += [text for kind, texts in values["labels"].items() if kind in LABELS for text in texts]
        found = []
        for what in ("length", "area"):
            a, b = getattr(mine, what), getattr(theirs, what)
            for layer in sorted(set(a) | set(b)):
                high = max(abs(a[layer]), abs(b[layer]))
                if abs(a[layer] - b[layer]) > TOLERANCE * high and high > 1e-9:
                    found.append(f"  {what} of `{layer}`: {a[layer]:.6g}, ezdxf {b[layer]:.6g}")
        squeeze = lambda labels: sorted("".join(text.split()) for text in labels if text.strip())
        for layer in sorted(set(mine.labels) | set(theirs.labels)):
            a, b = squeeze(mine.labels[layer]), squeeze(theirs.labels[layer])
            if a != b:
                only_a = [text for text in a if text not in b][:3]
                only_b = [text for text in b if text not in a][:3]
                found.append(f"  labels of `{layer}`: {len(a)}, ezdxf {len(b)}; only here {only_a}, only there {only_b}")
        if found:
            differences += 1
            print(f"{name} (ezdxf passes over {dict(theirs.skipped)})")
            print("\n".join(found))
    print(f"{compared} files compared, {differences} with differences, {refused} that ezdxf refuses")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
