"""CPU time of `plan2geo convert` beside ezdxf.readfile and ogr2ogr on one DXF file, in turns, so that all meet the same load.

    pip install ezdxf; apt install gdal-bin
    cargo build --release
    python benches/peers/cpu.py EXPORT.dxf [ROUNDS]

Only entities are written, as the others do. Prints user and system time, peak memory and size of the output, the median of the
rounds, and each as a multiple of ours.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "target/release/plan2geo"


def commands(file, out):
    yield "plan2geo convert", [PROGRAM, "convert", file, "-o", out, "--set", "plan.enabled=false", "--set", "limits.unit_deadline=10m"], 3
    yield "ezdxf.readfile", [sys.executable, "-c", "import ezdxf, sys; ezdxf.readfile(sys.argv[1])", file], 1
    yield "ogr2ogr -f GeoJSON", ["ogr2ogr", "-f", "GeoJSON", out, file], 1


def main():
    file, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    spent, memory, size = {}, {}, {}
    with tempfile.TemporaryDirectory(dir=".") as folder:
        out = os.path.join(folder, "out.geojson")
        for _ in range(rounds):
            for name, command, times in commands(file, out):
                for _ in range(times):
                    if os.path.exists(out):
                        os.remove(out)
                    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    _, status, usage = os.wait4(child.pid, 0)
                    if status != 0:
                        sys.exit(f"{name} failed")
                    spent.setdefault(name, []).append((usage.ru_utime, usage.ru_stime))
                    memory[name] = max(memory.get(name, 0), usage.ru_maxrss)
                    size[name] = os.path.getsize(out) if os.path.exists(out) else 0
    ours = statistics.median(sum(times) for times in spent["plan2geo convert"])
    for name, times in spent.items():
        cpu = statistics.median(sum(pair) for pair in times)
        user = statistics.median(pair[0] for pair in times)
        print(
            f"{name:20} {cpu:8.2f} s ({user:.2f} user)  {cpu / ours:6.1f} x  {memory[name] / 1000:7.0f} MB peak"
            f"  {size[name] / 1e6:7.0f} MB written"
        )


main()
