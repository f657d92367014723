#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables of docs/performance.md from what `nbcoll bench --against ... --parts --json` prints.

performance.py stand NAME FILE...    how many cells reach their targets, of the ranks and buffers NAME
performance.py cells FILE...         each cell
performance.py missed FILE...        where the time of missed cells goes

Several files are one table: an operation each, or all in one."""
import json
import statistics
import sys

OPERATIONS = ["barrier", "bcast", "scatter", "gather", "allgather", "reduce", "allreduce", "alltoall"]
FORMS = {"persistent": "persistent", "nonblocking": "start + wait"}
COLUMNS = 4


def goal(row):
    """What this project aims at: nbcoll's time over the best peer's."""
    reduces = row["operation"] in ("reduce", "allreduce")
    shared = row["memory"] == "shared"
    if row["form"] == "nonblocking" and row["bytes"] == 8:
        return 1
    if row["ranks"] > row["cores"]:
        return 0.5 if shared else 0.6 if row["bytes"] <= 1024 else 0.8
    if shared:
        return 0.4 if reduces else 0.35
    return 0.65 if reduces and row["bytes"] > 1024 else 0.8


def load(files):
    rows = [row for name in files for row in json.load(open(name))["results"]]
    for row in rows:
        row["target"] = goal(row)
        row["met_by_ratio"] = row["ratio"] <= row["target"]
        if row.get("copies"):  # a peer that is faster has shown that they can be avoided
            row["target"] = max(row["target"], 1.15 * min(row["copies"] / row["peer_us"], 1))
        row["met"] = row["ratio"] <= row["target"]
    return rows


def size(n):
    return "" if n == 0 else f"{n >> 20} M" if n >= 1 << 20 else f"{n >> 10} K" if n >= 1024 else str(n)


def number(x):
    a = abs(x)
    text = "0" if a < 0.005 else f"{a:.0f}" if a >= 99.5 else f"{a:.1f}" if a >= 9.95 else f"{a:.2f}"
    return "-" + text if x < 0 and text != "0" else text


def latency class(both):
    return "".join("S" if x < 0.038 else "C" if x < 0.13 else "X" for x in both)


def ratio(row):
    if not row:
        return ""
    text = f"{row['ratio']:.2f} [{row['low']:.2f}, {row['high']:.2f}] / {row['target']:.2f}"
    return f"**{text}**" if row["met"] else text


def peer(row):
    name = row["peer"].replace(" 4.1.4", "").replace(" 4.0.2", "")
    return f"{number(row['peer_us'])} ({name}, {row['peer_form']})"


def key(row):
    return row["operation"], row["bytes"], row["memory"], row["form"]


def by_cell(rows):
    cells = sorted({key(r)[:2] for r in rows}, key=lambda c: (OPERATIONS.index(c[0]), c[1]))
    return cells, {key(r): r for r in rows}


def cells(rows):
    print("| | bytes | best peer, us | nbcoll persistent, us | persistent | start + wait | copies, us | "
          "nbcoll_mem_alloc, us | persistent | start + wait | latency class |")
    print("|---|---:|---|---:|---|---|---:|---:|---|---|---|")
    order, row = by_cell(rows)
    for cell in order:
        own, started = row.get(cell + ("private", "persistent")), row.get(cell + ("private", "nonblocking"))
        shared, both = row.get(cell + ("shared", "persistent")), row.get(cell + ("shared", "nonblocking"))
        copies = number(own["copies"]) if own.get("copies") else ""
        print(f"| {cell[0]} | {size(cell[1])} | {peer(own)} | {number(own['us'])} | {ratio(own)} | {ratio(started)} | "
              f"{copies} | {number(shared['us']) if shared else ''} | {ratio(shared)} | {ratio(both)} | "
              f"{latency class(own['line_us'])} |")


def column(row):
    return 3 if row["memory"] == "shared" else 0 if row["bytes"] <= 1024 else 1 if row["bytes"] <= 65536 else 2


def stand(name, rows):
    for kind in ("data", "reductions"):
        for form, text in FORMS.items():
            line = []
            for c in range(COLUMNS):
                some = [r for r in rows if r["form"] == form and column(r) == c and
                        (r["operation"] in ("reduce", "allreduce")) == (kind == "reductions")]
                line.append(f"{statistics.median([r['ratio'] for r in some]):.2f}; {sum(r['met'] for r in some)} "
                            f"({sum(r['met_by_ratio'] for r in some)}) of {len(some)}" if some else "")
            print(f"| {name} | {kind} | {text} | " + " | ".join(line) + " |")


def missed(rows):
    """Without --parts only copies are known."""
    if any("parts" in r for r in rows):
        print("| | bytes | memory | form | us | to reach, us | calls | copies | lines | waiting |")
        print("|---|---:|---|---|---:|---:|---:|---:|---:|---:|")
    order, row = by_cell(rows)
    rest = []
    for cell in order:
        for memory in ("private", "shared"):
            for form, text in FORMS.items():
                r = row.get(cell + (memory, form))
                if not r or r["met"]:
                    continue
                if "parts" not in r:
                    rest.append((cell, memory, text, r))
                    continue
                parts, way = r["parts"], f" {r['copies_by']}" if r.get("copies") else ""
                print(f"| {cell[0]} | {size(cell[1])} | {memory} | {text} | {number(r['us'])} | "
                      f"{number(r['target'] * r['peer_us'])} | {number(parts['calls'])} | "
                      f"{number(parts['copies'])}{way} | {number(parts['lines'])} | {number(parts['waiting'])} |")
    if rest:
        print("| | bytes | memory | form | us | to reach, us | copies | the rest |")
        print("|---|---:|---|---|---:|---:|---:|---:|")
    for cell, memory, text, r in rest:
        copies = f"{number(r['copies'])} {r['copies_by']}" if r.get("copies") else "0"
        print(f"| {cell[0]} | {size(cell[1])} | {memory} | {text} | {number(r['us'])} | "
              f"{number(r['target'] * r['peer_us'])} | {copies} | {number(r['us'] - r.get('copies', 0))} |")


if __name__ == "__main__":
    what, names = sys.argv[1], sys.argv[2:]
    if what == "stand":
        stand(names[0], load(names[1:]))
    elif what == "cells":
        cells(load(names))
    elif what == "missed":
        missed(load(names))
    else:
        sys.exit(__doc__)
