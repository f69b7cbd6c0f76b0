"""What the static checks share: the repository's files, and one way to report."""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CXX = (".h", ".cpp", ".c", ".def", ".inc")


def git(*arguments):
    """Lines that a git command prints in the repository."""
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def tracked(*endings):
    """Tracked files of the working tree whose names end so, as paths relative to the root, sorted."""
    return sorted(path for path in git("ls-files") if path.endswith(endings) and (ROOT / path).is_file())


def text(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


def finish(name, findings, seen, warnings=()):
    """Prints warnings, findings and one closing line; ends the program with 1 if there are findings."""
    for line in warnings:
        print(f"warning: {line}")
    for line in findings:
        print(f"error: {line}")
    print(f"{name}: {len(findings)} finding{'' if len(findings) == 1 else 's'}, {seen}")
    sys.exit(1 if findings else 0)
