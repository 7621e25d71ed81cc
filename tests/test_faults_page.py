"""The page of faults and the suite that injects them name the same ones."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_fault_of_the_page_is_injected_and_the_reverse():
    page = (ROOT / "docs/faults.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")}
    rows.discard("fault")
    source = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests/faults").glob("*.py"))
    calls = r"(?:fault\(|equal\(|kind =|\(errno\.\w+,)"
    named = set(re.findall(rf'{calls}\s*"([^"]+)"', source))
    named |= set(re.findall(r'"([^"]+)": \(signal\.', source))
    assert named == rows
