#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Does storm see what it should? Changes the engine in one place at a time, builds storm with that, and runs seeds.
#
#     mutants.py draw [--seed S]       writes mutants.list: drawn from the text of src/engine by a seed, before results
#     mutants.py run [LIST] [-o TABLE] [-n NUMBERS] [--jobs N]
#                                      runs those of a list (mutants.list, repairs.list, promises.list), prints a
#                                      table, and adds it to that file; at most so many jobs for each (2,000); -j N: so
#                                      many mutants at a time. --large: also jobs of many ranks; --over-shm, --only KIND
#                                      (of faults, a number), --edition N: those jobs alone. --same: of what is not
#                                      found, does the compiler make the same? What is run stands in the table
#
# Both take --build DIRECTORY, where test_storm has been built; else that is build/release.
#
# Drawn is in lines that storm executes in 3,000 jobs, which is a minute (gcov; what it does not reach is coverage's
# concern, not the judge's): of each kind (KINDS) the same number, each in a line of its own. What does not compile is
# drawn past. A list has a mutant's kind, its place, the lines as they are (-) and as
# they become (+); they are found again by their text, but for comments behind it, nearest to that place.
import concurrent.futures
import glob
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OF_EACH = 8
FROM = 50000000  # seeds of the runs; those of coverage are others
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-w", "-I" + ROOT + "/include"]


# ---- building --------------------------------------------------------------------------------------------------------


CC = ["ccache", "gcc"] if shutil.which("ccache") else ["gcc"]


def compile_file(source, to, *flags):
    return subprocess.run([*CC, *FLAGS, *flags, "-c", source, "-o", to], stderr=subprocess.DEVNULL).returncode == 0


class Build:
    """All but the engine, of a build that is there; the engine, compiled as one file for each mutant, in a copy of src.
    """

    def __init__(self, binary):
        self.place = tempfile.gettempdir() + "/" + option("--place", "storm_mutants_%d" % os.getuid())
        shutil.rmtree(self.place, ignore_errors=True)  # one at a time: for ccache
        os.mkdir(self.place)
        shutil.copytree(ROOT + "/src", self.place + "/src")
        with open(ROOT + "/src/nbcoll.c") as f:
            files = re.findall(r'#include "(engine/[^"]*)"', f.read())
        self.unity = self.place + "/src/unity.c"
        with open(self.unity, "w") as f:
            f.writelines('#include "%s"\n' % name for name in files)
        self.main = []
        for top, _, names in os.walk(binary + "/test/CMakeFiles"):
            if re.search(r"/(nbcoll_test_storm|storm_test_storm)\.dir", top):
                self.main += [top + "/" + n for n in sorted(names) if n.endswith(".o")]
        self.libraries = [binary + "/test/libnbcoll_support.a", "-Wl,--start-group",
                          *sorted(glob.glob(binary + "/libnbcoll*.a")), "-Wl,--end-group"]

    def engine(self, to, *flags):
        return compile_file(self.unity, to, *(flags or ["-O0"]))

    def link(self, engine, to, *flags):
        subprocess.check_call(["gcc", *self.main, engine, *self.libraries, *flags, "-o", to, "-lcmocka", "-lm",
                               "-lpthread", "-Wl,--wrap=nbcolli_shm_copy_in"])

    def change(self, path, text):
        with open(self.place + "/src/" + path, "w") as f:
            f.write(text)

    def text(self, path):
        with open(ROOT + "/src/" + path) as f:
            return f.read()

    def restore(self, path):
        self.change(path, self.text(path))


# ---- what storm executes ---------------------------------------------------------------------------------------------


def execute(build, place):
    os.mkdir(place)
    build.engine(place + "/engine.o", "-O0", "--coverage")
    build.link(place + "/engine.o", place + "/storm", "--coverage")
    subprocess.run([place + "/storm", "--count", "3000", "--from", "20000000", "--findings", "1000"],
                   stdout=subprocess.DEVNULL)


def executed(build):
    place = option("--gcov", build.place + "/gcov")
    if not os.path.exists(place):
        execute(build, place)
    out = subprocess.run(["gcov", "--json-format", "--stdout", "engine.o"], cwd=place, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    lines = {}
    for f in json.loads(out.splitlines()[0])["files"]:
        at = f["file"].find("src/engine/")
        if at >= 0:
            lines[f["file"][at + 4:]] = sorted({n["line_number"] for n in f["lines"] if n["count"]})
    return lines


# ---- kinds -----------------------------------------------------------------------------------------------------------

CALL = re.compile(r"^(\s+)([a-z_][\w>.\-]*)\((?!.*[^=!<>]=[^=]).*\);$")
ASSIGN = re.compile(r"^(\s+)\*?[a-z_][\w>.\-\[\]]*(?:\[[^\]]*\][\w>.\-]*)* ([|&+\-]?)= (.*);$")
COUNT = re.compile(r"^(\s+)(?:[a-z_][\w>.\-\[\] ]*(?:\+\+|--)|\*?[a-z_][\w>.\-\[\]]* [+\-]= .*);$")
IF = re.compile(r"^(\s*)((?:\} )?(?:else )?if) \((.*)\)( \{)?$")
SAYS = re.compile(r"send|post|tell|answer|say|credit|revoke|announce|reply|wake|ring|give_up|note|inform|ask|lost")


def statement(line):
    return CALL.match(line) or ASSIGN.match(line) or COUNT.match(line)


def conjuncts(text, word):
    """Where that stands outside of parentheses."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0 and text.startswith(" %s " % word, i):
            yield i


def lost(line, _):
    m = CALL.match(line)
    if m and SAYS.search(m.group(2)):
        yield [m.group(1) + ";"]


def deleted(line, _):
    m = CALL.match(line)
    if m and not SAYS.search(m.group(2)):
        yield [m.group(1) + ";"]


def skipped(line, _):
    m = ASSIGN.match(line)
    if m and not m.group(2) and m.group(3) not in ("0", "NULL", "false") and "->" in line.split("=")[0]:
        yield [m.group(1) + ";"]


def not_reset(line, _):
    m = ASSIGN.match(line)
    if m and m.group(3) in ("0", "NULL", "false"):
        yield [m.group(1) + ";"]


def not_counted(line, _):
    m = COUNT.match(line)
    if m:
        yield [m.group(1) + ";"]


def swapped(line, after):
    a, b = statement(line), statement(after)
    if a and b and a.group(1) == b.group(1) and line != after:
        yield [after, line]


def removed(line, _):
    m = IF.match(line)
    if not m:
        return
    head, brace = m.group(1) + m.group(2), m.group(4) or ""
    for word in "&&", "||":
        at = list(conjuncts(m.group(3), word))
        if at and not list(conjuncts(m.group(3), "||" if word == "&&" else "&&")):
            cuts = [0] + at + [len(m.group(3))]
            parts = [m.group(3)[i:k].strip().removeprefix(word).strip() for i, k in zip(cuts, cuts[1:])]
            for i in range(len(parts)):
                yield ["%s (%s)%s" % (head, (" %s " % word).join(parts[:i] + parts[i + 1:]), brace)]
            return
    yield ["%s (0)%s" % (head, brace)]


def negated(line, _):
    m = IF.match(line)
    if m:
        yield ["%s (!(%s))%s" % (m.group(1) + m.group(2), m.group(3), m.group(4) or "")]


def off_by_one(line, _):
    other = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
    for m in re.finditer(r" (<=|>=|<|>) ", line):
        yield [line[:m.start(1)] + other[m.group(1)] + line[m.end(1):]]


def constant(line, _):
    for m in re.finditer(r"(?<![\w.>\"%])(\d)(?![\w.\"x])", line.split("/*")[0]):
        yield [line[:m.start()] + str(int(m.group(1)) + 1) + line[m.end():]]


KINDS = [("what was to be said is lost", lost), ("a statement deleted", deleted), ("a state not taken", skipped),
         ("not reset", not_reset), ("not counted", not_counted), ("an order swapped", swapped),
         ("a check removed", removed), ("a condition negated", negated), ("off by one", off_by_one),
         ("a constant changed", constant)]


# ---- drawing ---------------------------------------------------------------------------------------------------------


def candidates(build, lines, make):
    for path in sorted(lines):
        text = build.text(path).split("\n")
        for n in lines[path]:
            line, after = text[n - 1], text[n] if n < len(text) else ""
            if line.lstrip().startswith(("/*", "*", "#", "static ", "return ", "for (;")):
                continue
            for new in make(line, after):
                if new != text[n - 1:n - 1 + len(new)]:
                    yield path, n, text[n - 1:n - 1 + len(new)], new


def changed(text, n, old, new):
    lines = text.split("\n")
    lines[n - 1:n - 1 + len(old)] = new
    return "\n".join(lines)


def draw(seed, binary):
    build = Build(binary)
    lines = executed(build)
    chance = random.Random(seed)
    used, drawn, past = set(), [], 0
    for kind, make in KINDS:
        all_of = list(candidates(build, lines, make))
        chance.shuffle(all_of)
        of_kind = 0
        for path, n, old, new in all_of:
            if of_kind == OF_EACH:
                break
            if (path, n) in used:
                continue
            build.change(path, changed(build.text(path), n, old, new))
            compiles = build.engine("/dev/null", "-fsyntax-only")
            build.restore(path)
            if not compiles:
                past += 1
                continue
            used.add((path, n))
            of_kind += 1
            drawn.append((kind, path, n, old, new))
    with open(HERE + "/mutants.list", "w") as f:
        f.write("SPDX-License-Identifier: BSD-3-Clause\n\nDrawn by mutants.py draw %d, in %d executed lines; %d drawn "
                "past.\n" % (seed, sum(map(len, lines.values())), past))
        for i, (kind, path, n, old, new) in enumerate(drawn):
            f.write("\n%d. %s\n%s:%d\n" % (i + 1, kind, path, n))
            f.writelines("-" + line + "\n" for line in old)
            f.writelines("+" + line + "\n" for line in new)
    shutil.rmtree(build.place)


# ---- running ---------------------------------------------------------------------------------------------------------


def read(path):
    """Each: number, kind, hunks of (path, line, old, new)."""
    out = []
    with open(path) as f:
        for line in f.read().split("\n"):
            m = re.match(r"(\d+)\. (.*)", line)
            if m:
                out.append((int(m.group(1)), m.group(2), []))
            elif out and re.match(r"[\w/]+\.[ch]:\d+$", line):
                at, n = line.split(":")
                out[-1][2].append((at, int(n), [], []))
            elif out and line[:1] in ("-", "+"):
                out[-1][2][-1][2 if line[0] == "-" else 3].append(line[1:])
    return out


def code(lines):
    return [re.sub(r"\s*/\*.*\*/$", "", line) for line in lines]


def find(text, n, old):
    lines, old = code(text.split("\n")), code(old)
    at = [i + 1 for i in range(len(lines)) if lines[i:i + len(old)] == old]
    return min(at, key=lambda i: abs(i - n)) if at else 0


def limits():
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def cuts():
    out = [] if "--large" in sys.argv else ["--small"]
    out += ["--over-shm"] if "--over-shm" in sys.argv else []
    out += ["--edition", option("--edition", "")] if "--edition" in sys.argv else []
    return out + (["--only", option("--only", "")] if "--only" in sys.argv else [])


def storm(program, number, first, end):
    """What it says of the first seed from `first` to before `end` that fails, and the processor time of that."""
    out = "%s.%d.out" % (program, number)
    with open(out, "wb") as to:
        process = subprocess.Popen([program, "--count", str(end - first), "--from", str(first), *cuts(), "--findings",
                                    "1", "--patience", "10"], stdout=to, stderr=to, preexec_fn=limits,
                                   env={**os.environ, "STORM_MUTANT": str(number)})
        _, status, spent = os.wait4(process.pid, 0)
    process.returncode = 0
    with open(out, errors="replace") as f:
        for line in f:
            m = re.match(r"seed (\d+): (.*)", line) or re.match(r"(?:.*: )?(?:a crash|no end) in seed (\d+)()", line)
            if m:
                return int(m.group(1)), m.group(2) or line.strip(), spent.ru_utime
    if os.WIFSIGNALED(status):
        return first, "signal %d" % os.WTERMSIG(status), spent.ru_utime
    return 0, "", spent.ru_utime


def make(build, mutant, to, *flags):
    """The engine's object; an error, or nothing."""
    texts = {}
    for path, n, old, new in mutant[2]:
        text = texts.get(path) or build.text(path)
        at = find(text, n, old)
        if not at:
            return "no longer there"
        texts[path] = changed(text, at, old, new)
    for path in texts:
        build.change(path, texts[path])
    compiles = build.engine(to, *flags)
    for path in texts:
        build.restore(path)
    return "" if compiles else "does not compile"


# ---- many in one program ---------------------------------------------------------------------------------------------

CHOSEN = """int storm_mutant;
__attribute__((constructor)) static void storm_choose(void)
{
    const char *number = getenv("STORM_MUTANT");
    storm_mutant = number ? atoi(number) : 0;
}
"""


def token_of_both(chosen, old, new):
    """One number, or one comparison of names, is another."""
    a, b = (re.findall(r"\w+|->|[<>]=|.", line) for line in (old, new))
    at = [i for i in range(min(len(a), len(b))) if a[i] != b[i]]
    if len(a) != len(b) or len(at) != 1:
        return None
    i = k = at[0]
    if not a[i].isdigit():
        i, k = i - 2, k + 2
        while re.match(r"\w|->|\.", a[i - 1]):
            i -= 1
        while re.match(r"\w|->|\.", a[k + 1]):
            k += 1
        if a[i - 1] == "*" and a[i - 2] in " (":
            i -= 1
        if a[k + 1:k + 4:2] == [" ", " "] and a[k + 2] in "+-":
            k += 4
    return ["%s(%s ? %s : %s)%s" % ("".join(a[:i]), chosen, "".join(b[i:k + 1]), "".join(a[i:k + 1]),
                                    "".join(a[k + 1:]))]


def both(number, old, new):
    """Lines that are `new` where this mutant is chosen, and `old` elsewhere; none: they cannot be written like that."""
    chosen, new = "storm_mutant == %d" % number, new or [";"]
    heads = [IF.match(lines[0]) for lines in (old, new)]
    if all(heads) and len(old) == len(new) == 1:
        before, after = heads
        return ["%s%s (%s ? (%s) : (%s))%s" % (*before.group(1, 2), chosen, after.group(3), before.group(3),
                                               before.group(4) or "")]
    if all(statement(line) or line.strip() == ";" for line in old + new):
        return ["{ if (%s) { %s } else { %s } }" % (chosen, " ".join(new), " ".join(old))] + [""] * (len(old) - 1)
    return token_of_both(chosen, old[0], new[0]) if len(old) == len(new) == 1 else None


def combine(build, mutants, to, *flags):
    """An engine in which STORM_MUTANT of the environment chooses one. Returns the numbers of those that are in it."""
    texts, numbers = {}, set()
    for number, _, hunks in mutants:
        (path, n, old, new), *more = hunks
        text = texts.get(path) or build.text(path)
        at, lines = find(text, n, old), both(number, old, new)
        if not more and at and lines:
            texts[path] = changed(text, at, old, lines)
            numbers.add(number)
    for path, text in texts.items():
        build.change(path, text)
    with open(build.unity) as f:
        plain = f.read()
    with open(build.unity, "w") as f:
        f.write("#include <stdlib.h>\n" + CHOSEN + plain)
    compiles = build.engine(to, *flags)
    for path in texts:
        build.restore(path)
    with open(build.unity, "w") as f:
        f.write(plain)
    return numbers if compiles else set()


def is_same(build, mutant):
    """Does the compiler make the same of it?"""
    objects = []
    build.engine(build.place + "/same.o", "-O2")
    make(build, mutant, build.place + "/changed.o", "-O2")
    for name in "same.o", "changed.o":
        with open(build.place + "/" + name, "rb") as f:
            objects.append(f.read())
    return objects[0] == objects[1]


def judged(number, program, plain, seeds):
    """A seed that fails without the change, too, counts for nothing."""
    first, total = FROM, 0
    while True:
        seed, why, spent = storm(program, number, first, FROM + seeds)
        total += spent
        if not seed or not storm(plain, 0, seed, seed + 1)[0]:
            break
        print("seed %d fails without a change" % seed, file=sys.stderr)
        first = seed + 1
    kind = "".join(" " + word for word in cuts() if word != "--small")
    result = "NOT FOUND in %d jobs%s, %.0f s" % (seeds, kind, total)
    if seed:
        result = "found by job %d%s, %.1f s: %s" % (seed - FROM + 1, kind, total, why[:120])
    print(number, result, file=sys.stderr, flush=True)
    return result


def commit():
    """What the results are of. To have them again: a worktree of that, built, and its mutants.py."""
    said = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=9"], stdout=subprocess.PIPE)
    return said.stdout.decode().strip() or "no commit"


def option(name, otherwise):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise


def say(line, table):
    for out in sys.stdout, table:
        print(line, file=out, flush=True)


def run(arguments):
    lists = [a for a in arguments if a.endswith(".list")] or [HERE + "/mutants.list"]
    seeds = int(option("--jobs", "2000"))
    numbers = option("-n", "")
    wanted = {int(n) for n in numbers.split(",")} if numbers else None
    table = open(option("-o", os.devnull), "a")
    build = Build(option("--build", ROOT + "/build/release"))
    chosen = [(name, mutant) for name in lists for mutant in read(name) if not wanted or mutant[0] in wanted]
    common = build.place + "/storm"
    together = combine(build, [mutant for _, mutant in chosen], build.place + "/engine.o", "-O1")
    if not together:
        build.engine(build.place + "/engine.o")
    build.link(build.place + "/engine.o", common)
    results = []
    with concurrent.futures.ThreadPoolExecutor(int(option("-j", "1"))) as pool:
        for _, mutant in chosen:
            program, error = common, ""
            if mutant[0] not in together:
                program = "%s/storm_%d" % (build.place, mutant[0])
                error = make(build, mutant, build.place + "/engine.o")
                if not error:
                    build.link(build.place + "/engine.o", program)
            results.append((mutant, error or pool.submit(judged, mutant[0], program, common, seeds)))
    found = 0
    for mutant, result in results:
        result = result if isinstance(result, str) else result.result()
        found += result.startswith("found")
        if result.startswith("NOT") and "--same" in sys.argv and is_same(build, mutant):
            result = "equivalent: it compiles to the same code"
        say("%3d %-28s %-30s %s" % (mutant[0], mutant[1], "%s:%d" % mutant[2][0][:2], result), table)
    say("%d of %d found, each in at most %d jobs, at %s" % (found, len(results), seeds, commit()), table)
    shutil.rmtree(build.place)


if __name__ == "__main__":
    if sys.argv[1:2] == ["draw"]:
        draw(int(option("--seed", "34")), option("--build", ROOT + "/build/release"))
    elif sys.argv[1:2] == ["run"]:
        run(sys.argv[2:])
    else:
        sys.exit("mutants.py draw [--seed S] | run [LIST] [-o TABLE] [-n NUMBERS] [--jobs N] [-j N]\n"
                 "both: --build DIRECTORY; the file begins with what they do")
