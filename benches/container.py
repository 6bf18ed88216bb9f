#!/usr/bin/env python3
"""41,000 drawings between 40 KB and 900 MB through a container of 512 MB.

    cargo build --release
    python3 benches/container.py WORK [--units 41000] [--memory 512] [--keep] [-- --set limits.threads=2 …]

Makes drawings with `plan2geo synth`, links them under many names, adds large files (sparse ones, one of 900 MB of comments,
and one whose entities do not fit), puts itself into a memory cgroup (version 2 or 1; needs root) and runs the batch. Without the right to make
a cgroup the limit is `ulimit -v`, which also counts mapped files. Prints what report.json says and what the kernel counted.
WORK should be on a disk: it becomes the temporary directory, too.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = Path(os.environ.get("PLAN2GEO", Path(__file__).parent.parent / "target/release/plan2geo")).resolve()
MB = 10**6


def dxf(lines, tail=b""):
    body = [b"0\nSECTION\n2\nENTITIES\n"]
    for number in range(lines):
        x, y = number % 997, number // 997
        body.append(b"0\nLINE\n8\nA-WALL\n10\n%d\n20\n%d\n11\n%d\n21\n%d\n" % (x, y, x + 1, y))
    body.append(tail)
    body.append(b"0\nENDSEC\n0\nEOF\n")
    return b"".join(body)


def make(work, units):
    plans = work / "plans"
    small = work / "small"
    subprocess.run([PROGRAM, "synth", small, "--plans", "600"], check=True, stdout=subprocess.DEVNULL)
    size = lambda path: path.stat().st_size
    originals = sorted(path for path in small.rglob("*") if path.suffix in (".dxf", ".svg") and 40_000 <= size(path) < 80_000)
    large = []
    # Sparse: a drawing, and blanks behind its end that take no room on the disk.
    for number in range(100):
        size = (1 + number // 2) * MB if number < 80 else (100 + (number - 80) * 800 // 19) * MB
        path = work / f"sparse{number:03}.dxf"
        path.write_bytes(dxf(200 + number))
        os.truncate(path, size)
        large.append(path)
    comments = work / "comments.dxf"
    with comments.open("wb") as file:
        start, end = dxf(200).split(b"0\nENDSEC\n")
        file.write(start)
        for _ in range(900):
            file.write(b"999\n" + (b"x" * 124 + b"\n999\n") * ((MB - 8) // 129) + b"x\n")
        file.write(b"0\nENDSEC\n" + end)
    large += [comments] * 3
    # 160 MB of lines that touch: more than the conversion can hold.
    hungry = work / "hungry.dxf"
    hungry.write_bytes(dxf(4_000_000))
    large += [hungry] * 2
    every = max(1, units // len(large))
    for number in range(units):
        folder = plans / f"B{number // 500:03}"
        if number % 500 == 0:
            folder.mkdir(parents=True)
        turn = number // every
        original = large[turn] if number % every == every // 2 and turn < len(large) else originals[number % len(originals)]
        os.link(original, folder / f"P{number:06}{original.suffix}")
    return len(originals), len(large)


def container(megabytes):
    """Puts this process into a group of its own; gives the file with the peak, or None where that is not allowed."""
    bytes_ = str(megabytes * 2**20)
    name = f"plan2geo-{os.getpid()}"
    for root, limit, peak in [("/sys/fs/cgroup", "memory.max", "memory.peak"),
                              ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes")]:
        group = Path(root) / name
        if not (Path(root) / "cgroup.procs").is_file():
            continue
        try:
            group.mkdir()
            (group / limit).write_text(bytes_)
            (group / "cgroup.procs").write_text(str(os.getpid()))
            return group / peak
        except OSError:
            if group.is_dir():
                group.rmdir()
    resource.setrlimit(resource.RLIMIT_AS, (int(bytes_), int(bytes_)))
    return None


def main():
    own, more = (sys.argv[1:], [])
    if "--" in own:
        own, more = own[: own.index("--")], own[own.index("--") + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--units", type=int, default=41_000)
    parser.add_argument("--memory", type=int, default=512, help="MiB")
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args(own)
    work = arguments.work.resolve()
    work.mkdir(parents=True)
    small, large = make(work, arguments.units)
    print(f"{arguments.units} drawings from {small} small originals and {large} large ones", flush=True)
    (work / "batch.toml").write_text('[source]\nlocation = "plans"\n[output]\nlocation = "out"\n')
    temporary = work / "tmp"
    temporary.mkdir()
    peak = container(arguments.memory)
    print(f"limit: {arguments.memory} MiB by {peak.parent if peak else 'ulimit -v'}", flush=True)
    begun = time.time()
    run = subprocess.run([PROGRAM, "run", work / "batch.toml", "--json", "--quiet", *more],
                         env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.PIPE)
    took = time.time() - begun
    told = json.loads(run.stdout or "{}")
    summary = told.get("summary", {})
    memory = summary.get("memory", {})
    print(json.dumps({
        "exit code": run.returncode, "seconds": round(took, 1),
        **{key: summary.get(key) for key in ("enumerated", "extracted", "dead_letters", "by_kind", "reconciled", "bytes_read", "verdict")},
        "peak resident MB": round(memory.get("peak", 0) / MB, 1), "peak without mapped files MB": round(memory.get("peak_private", 0) / MB, 1),
        "plateau": memory.get("plateau"), "bytes per thousand": memory.get("bytes_per_thousand"), "samples": len(memory.get("samples", [])),
        "peak of the group MB": round(int(peak.read_text()) / MB, 1) if peak else None,
        "report": told.get("directory", "") + "/report.html",
    }, indent=1))
    if not arguments.keep:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
