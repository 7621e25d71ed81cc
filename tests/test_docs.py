"""What is written for readers holds: code runs, commands parse, links and paths are true."""

import ast
import doctest
import importlib
import io
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from coevo.benchmarks.files import short
from coevo.benchmarks.reproductions import NAMES
from coevo.commands.extras import TRAIN
from coevo.commands.parse import parse
from coevo.envs import list_envs
from coevo.envs.core.config import components
from coevo.envs.core.errors import UnknownNameError
from coevo.envs.rewards import REWARDS
from coevo.trainers.algorithms import ALGORITHMS, algorithm
from coevo.trainers.components import AnyBaseline, AnyRegulariser
from coevo.trainers.config import TrainConfig
from coevo.trainers.loop import start, updates
from coevo.trainers.run_folder import RunFolder

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "setuptools"
]["package-dir"]
WRITTEN = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
]
WRITTEN = [page for page in WRITTEN if page.name != "commands.md"]
"""Pages that people write; the others come from the registries."""
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!http|#)([^)#]+)(?:#[^)]*)?\)")


def blocks(page, *languages):
    """Return the code blocks of a page in the given languages, as (language, code)."""
    return [b for b in FENCE.findall(page.read_text(encoding="utf-8")) if b[0] in languages]


def name_of(page):
    return str(page.relative_to(ROOT))


# ---- Code ------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [p for p in WRITTEN if blocks(p, "python", "bash")], ids=name_of)
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path):
    for language, code in blocks(page, "python", "bash"):
        run = [sys.executable, "-P", "-c", code]
        if language == "bash":
            command = (
                f'coevo() {{ {shlex.quote(sys.executable)} -P -m coevo "$@"; }}; set -e; {code}'
            )
            run = ["bash", "-c", command]
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
        assert done.stdout.strip() or language == "bash"


@pytest.fixture(scope="module")
def site():
    """Return how to import a module of the site: `site("generate")`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")  # where these modules find each other
        yield importlib.import_module


@pytest.fixture(scope="module")
def generate(site):
    return site("generate")


@pytest.mark.parametrize("env", list_envs(), ids=lambda env: env.id)
def test_the_usage_on_the_page_of_an_environment_runs(env, site, capsys):
    code = site("worlds").usage(env)
    assert code in site("worlds").environment_page(env)
    exec(code, {})  # noqa: S102  # the code that the page shows
    assert capsys.readouterr().out.strip()


def test_the_pages_of_the_registries_show_everything_that_is_registered(generate):
    pages = generate.environment_pages() | generate.algorithm_pages() | generate.reward_pages()
    assert {short(e.id) for e in list_envs()} | set(ALGORITHMS) <= set(pages)
    assert all(f"\n## {name}\n" in generate.reward_pages()["index"] for name in REWARDS)


def test_every_drawing_is_of_an_environment_and_well_formed(site):
    drawings = site("boards").DRAWINGS
    assert set(drawings) <= {short(e.id) for e in list_envs()}
    assert all(ElementTree.fromstring(site("worlds").board_of(name)) for name in drawings)


def test_the_groups_of_the_sidebar_hold_every_page_once(generate):
    grouped = [name for names in generate.sidebar_groups().values() for name in names]
    assert sorted(grouped) == sorted([*ALGORITHMS, *(short(e.id) for e in list_envs())])


def test_the_api_reference_names_what_exists():
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    named = re.findall(r"auto(?:class|function):: ([\w.]+)\.(\w+)", page)
    assert len(named) > 30
    assert [n for n in named if not hasattr(importlib.import_module(n[0]), n[1])] == []


def test_every_component_is_listed_with_its_ranges(generate):
    page = generate.component_pages()["components"]
    for name, kind in (("advantage.baseline", AnyBaseline), ("loss.regularise", AnyRegulariser)):
        section = page.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert all(f"| `{tag}` |" in section for tag in components(kind))
    assert "`cap=2.0` (>= 0)" in page  # loss.is_correction
    assert "`single='zero'` (zero, keep)" in page


# ---- Commands --------------------------------------------------------------------------------


def command_lines():
    """Return every line of a block that calls coevo."""
    return [
        line.strip()
        for page in WRITTEN
        for _, body in blocks(page, "", "text", "bash")
        for line in body.splitlines()
        if line.strip().startswith("coevo ") and "MODEL" not in line
    ]


@pytest.mark.parametrize("line", sorted(set(command_lines())))
def test_commands_parse(line):
    parse(shlex.split(line, comments=True)[1:])


def test_a_line_with_an_option_that_does_not_exist_would_be_noticed():
    with pytest.raises(UnknownNameError, match="--budgets"):
        parse(shlex.split("train mars --env coevo/kuhn_poker-v0 --budgets 4m"))


def test_make_targets_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    readme = "\n".join(body for _, body in blocks(ROOT / "README.md", ""))
    named = re.findall(r"^make ([\w-]+)", readme, re.MULTILINE)
    assert named
    assert [n for n in named if f"\n{n}:" not in makefile] == []


# ---- Examples in docstrings ------------------------------------------------------------------


ELSEWHERE = ("vllm_worker", "as_verifiers", "as_verifiers_seats", "as_openenv")


def modules():
    """Return every module by name; the folders are mapped, so packages cannot be walked."""
    found = []
    for package, folder in FOLDERS.items():
        for file in sorted((ROOT / folder).rglob("*.py")):
            parts = file.relative_to(ROOT / folder).with_suffix("").parts
            name = ".".join((package, *(p for p in parts if p != "__init__")))
            # These are loaded by vLLM and verifiers alone, elsewhere.
            if not name.endswith(ELSEWHERE):
                found.append(name)
    return sorted(found)


LIGHT = [m for m in modules() if m.startswith("coevo.envs")] + [
    "coevo",
    "coevo.__main__",
    "coevo.agents",
]
"""What works without any extra: environments and scripted agents."""
EXAMPLES = """
import doctest, importlib, sys
sys.modules |= dict.fromkeys(sys.argv[1].split(","))  # importing these fails
for name in sys.argv[2:]:
    assert doctest.testmod(importlib.import_module(name)).failed == 0, name
"""


@pytest.mark.parametrize("name", [m for m in modules() if m not in LIGHT])
def test_examples_in_docstrings_hold(name):
    said = io.StringIO()
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        runner.run(test, out=said.write)
    assert runner.failures == 0, said.getvalue()


def test_examples_of_the_light_modules_hold_without_any_extra(tmp_path):
    done = subprocess.run(
        [sys.executable, "-P", "-c", EXAMPLES, ",".join(TRAIN), *LIGHT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_modules_are_found_and_have_examples():
    found = modules()
    assert {"coevo", "coevo.__main__", "coevo.envs.core.env", "coevo.trainers.loop"} <= set(found)
    sources = [
        p.read_text(encoding="utf-8") for f in FOLDERS.values() for p in (ROOT / f).rglob("*.py")
    ]
    docs = [
        ast.get_docstring(node) or ""
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
    ]
    assert sum(doc.count(">>>") for doc in docs) > 100


# ---- Links and words -------------------------------------------------------------------------


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_links_and_named_files_exist(page):
    text = page.read_text(encoding="utf-8")
    base = ROOT if page.name == "CONTRIBUTING.md" else page.parent
    linked = [
        t
        for t in LINK.findall(text)
        if not {"environments", "rewards", "algorithms"} & set(Path(t).parts)
    ]
    assert [
        t
        for t in linked
        if t not in ("../commands.md", "../components.md", "zero_shot.md")
        and not (base / t).exists()
    ] == []
    prose = FENCE.sub("", text)
    named = re.findall(r"`((?:envs|agents|trainers|benchmarks|coevo|tests|docs)/[\w./-]*)`", prose)
    named = [n for n in named if not re.search(r"-v[0-9]|\b[A-Z]+\.py", n)]
    assert [n for n in named if not (ROOT / n).exists()] == []


def test_the_map_names_the_folders():
    map_ = next(b for _, b in blocks(ROOT / "README.md", "") if b.startswith("coevo/"))
    named = re.findall(r"^(\w+)/ ", map_, re.MULTILINE)
    assert sorted(named) == sorted([*FOLDERS.values(), "studies", "tests", "docs"])


def test_the_counts_of_the_readme_are_those_of_the_tables():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    published = [a for a in ALGORITHMS.values() if a.paper != "none"]
    counted = {"published algorithms": published, "environments": list_envs(), "claims": NAMES}
    for what, table in counted.items():
        said = re.findall(rf"(\d+) {what}", text)
        assert said == [str(len(table))], f"README.md says {said} {what}, there are {len(table)}"


def test_nobody_is_sent_to_an_index_that_does_not_have_the_package():
    places = [*WRITTEN, *(p for f in FOLDERS.values() for p in (ROOT / f).rglob("*.py"))]
    sent = re.compile(r"pip install [\"']?coevo\b")
    assert [str(p) for p in places if sent.search(" ".join(p.read_text("utf-8").split()))] == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_nothing_cites_what_is_not_in_the_repository():
    folders = [*FOLDERS.values(), "tests", "docs"]
    sources = [p for f in folders for p in (ROOT / f).rglob("*.py") if p != Path(__file__)]
    cited = re.compile(r"\b[Tt]he[ _]sheets?\b|\bspecs/")
    told = [p for p in sources if cited.search(p.read_text("utf-8"))]
    assert told == []


# ---- The reading list --------------------------------------------------------------------------

STEP = re.compile(r"^\d+\. `([\w/.]+)` `([\w.]+)`", re.MULTILINE)


def test_the_way_of_a_payoff_is_the_way_that_an_update_takes(tmp_path):
    listed = STEP.findall((ROOT / "docs" / "payoff.md").read_text(encoding="utf-8"))
    assert len(listed) > 20 and len({path for path, _ in listed}) <= 14
    algo = algorithm("mars", None, {"collect.episodes": 4})
    config = TrainConfig(algorithm=algo, env="coevo/kuhn_poker-v0", steps=1, threads=1)
    run = start(config, RunFolder(tmp_path / "run"))
    called = {}

    def note(frame, event, _):
        if event == "call":
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(ROOT):
                key = (str(path.relative_to(ROOT)), frame.f_code.co_qualname)
                called.setdefault(key, len(called))

    sys.setprofile(note)
    try:
        for _ in updates(run):
            pass
    finally:
        sys.setprofile(None)
    assert [step for step in listed if step not in called] == []
    order = [called[step] for step in listed]
    assert order == sorted(order)
