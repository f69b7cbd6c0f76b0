#!/usr/bin/env python3
"""count_tests.py FOLDER: prints "passed failed skipped" of one ctest run.

FOLDER holds ctest.xml (JUnit, one case a ctest test) and NAME_test.xml of each GoogleTest binary that came to its end.
Each test of a binary counts for itself; a ctest test without such a file, as a script or a crashed binary, counts as one;
so does a binary that failed although none of its tests did. Skipped and failed tests are named on stderr.
"""
import sys
import xml.etree.ElementTree as xml
from pathlib import Path


def binary_counts(path):
    passed = failed = skipped = 0
    for case in xml.parse(path).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None:
            failed += 1
            print(f"failed: {name}", file=sys.stderr)
        elif case.get("result") in ("skipped", "suppressed") or case.get("status") == "notrun":
            skipped += 1
            print(f"skipped: {name}", file=sys.stderr)
        else:
            passed += 1
    return passed, failed, skipped


def main():
    folder = Path(sys.argv[1])
    total = [0, 0, 0]
    try:
        cases = list(xml.parse(folder / "ctest.xml").iter("testcase"))
    except (OSError, xml.ParseError):
        cases = []
    for case in cases:
        name, status = case.get("name"), case.get("status")
        counts = (0, 0, 0)
        own = folder / f"{name}_test.xml"
        if own.is_file():
            try:
                counts = binary_counts(own)
            except xml.ParseError:
                status = "fail"
        if status == "run" and sum(counts) == 0:
            counts = (1, 0, 0)
        elif status in ("notrun", "disabled") and case.find("skipped") is not None and case.find("failure") is None \
                and "not found" not in "".join(case.itertext()).lower():
            counts = (0, 0, 1)
        elif status != "run" and counts[1] == 0:
            counts = (counts[0], 1, counts[2])
            print(f"failed: {name} (no test of its own failed: it crashed, hung or could not start)", file=sys.stderr)
        total = [a + b for a, b in zip(total, counts)]
    if not cases:
        total[1] = 1
        print("failed: ctest ran no test", file=sys.stderr)
    print(*total)


main()
