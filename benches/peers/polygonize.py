"""GEOS on the segments of `cargo bench --bench rooms -- --peer PYTHON`: ends extended by 2 mm, united, polygonized."""

import resource
import sys

import numpy
import shapely


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


segments = numpy.loadtxt(sys.argv[1]).reshape(-1, 2, 2)
way = segments[:, 1] - segments[:, 0]
way /= numpy.linalg.norm(way, axis=1)[:, None]
for extension in (0.0, 0.002):
    moved = numpy.stack([segments[:, 0] - way * extension, segments[:, 1] + way * extension], axis=1)
    start = cpu()
    lines = shapely.linestrings(moved)
    noded = shapely.union_all(lines)
    faces = shapely.get_parts(shapely.polygonize([noded]))
    seconds = cpu() - start
    area = shapely.area(faces).sum()
    print(
        f"GEOS {shapely.geos_version_string}, ends extended {extension * 1000:.0f} mm: "
        f"{len(faces)} faces, {area:.3f} m2, {seconds:.2f} s CPU"
    )
