"""The documentation site: it builds without a warning, loads nothing from elsewhere, and has a place for every public name.

Needs the extra `docs`; `.ci/run` has a stage for it.
"""

from __future__ import annotations

import html.parser
import importlib
import importlib.util
import inspect
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from house import ROOT

pytest.importorskip("myst_nb", reason="needs the extra `docs`: pip install gradscribe[docs]")
pytest.importorskip("pydata_sphinx_theme", reason="needs the extra `docs`")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def builder() -> Any:
    """docs/build_site.py as a module."""
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "docs" / "build_site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    builder().build(folder)  # a warning is an error
    return folder


class Page(html.parser.HTMLParser):
    """The addresses that a page loads, those that it links to, its places, and its first heading."""

    LOADING = frozenset({"src", "srcset", "poster", "data", "background"})

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.places: set[str] = set()
        self.words = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in self.LOADING or (name == "href" and tag == "link"):
                self.loaded.append(value or "")
            elif name == "href":
                self.linked.append(value or "")
            elif name == "id":
                self.places.add(value or "")
            elif name == "style" or (name == "http-equiv" and value == "refresh"):
                self.loaded += re.findall(r"url\(([^)]*)\)", value or "")

    def handle_data(self, data: str) -> None:
        self.words += data


def test_no_page_and_no_style_loads_an_external_address(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 50
    elsewhere = re.compile(r"(?:[a-z]+:)?//", re.I)
    for path in pages:
        assert [address for address in Page(path).loaded if elsewhere.match(address.strip("'\" "))] == [], path
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r"""url\(\s*["']?([^"')]*)|@import\s+["']([^"']*)""", text)
        assert [a or b for a, b in loaded if elsewhere.match(a or b)] == [], path


def test_each_link_leads_to_a_page_and_a_place_that_is_there(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    broken = []
    for path, page in pages.items():
        for address in page.linked:
            target, _, place = address.partition("#")
            if re.match(r"[a-z]+:", address) or not address:
                continue
            to = (path.parent / target).resolve() if target else path
            if not to.exists() or (place and to in pages and place not in pages[to].places):
                broken.append(f"{path.relative_to(site)}: {address}")
    assert broken == []


def test_each_page_of_the_documents_and_each_notebook_is_there_and_reached_from_the_front(site: Path) -> None:
    reached, ahead = set(), [site / "index.html"]
    while ahead:
        path = ahead.pop()
        if path not in reached and path.suffix == ".html" and path.is_file():
            reached.add(path)
            ahead += [
                (path.parent / a.partition("#")[0]).resolve() for a in Page(path).linked if not re.match("[a-z]+:|#", a)
            ]
    wanted = {site / f"{path.stem}.html" for path in (ROOT / "docs").glob("*.md")}
    wanted |= {site / "notebooks" / f"{path.stem}.html" for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert wanted - reached == set()


def test_each_public_name_has_a_place_in_the_reference_with_its_docstring(site: Path) -> None:
    build = builder()
    for module, (prefix, _) in build.MODULES.items():
        page = Page(site / "api" / f"{module}.html")
        words = " ".join(page.words.split())
        face = importlib.import_module("gradscribe" if module == build.PYTORCHS else module)
        for name in build.public_names(module):
            assert f"{prefix}{name}" in words, name
            if not callable(getattr(face, name)):
                continue
            first = (inspect.getdoc(getattr(face, name)) or "").split("\n")[0]
            letters = re.sub(r"\W+", "", first.replace("`", ""))
            assert letters in re.sub(r"\W+", "", words), name


def test_in_a_browser_no_page_asks_the_network_for_anything(site: Path) -> None:
    chromium = shutil.which("chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`")
    if chromium is None:
        pytest.skip("needs chromium: apt-get install chromium")
    with playwright.sync_playwright() as player:
        browser = player.chromium.launch(
            executable_path=chromium, args=["--disable-background-networking", "--no-sandbox"]
        )
        page, asked = browser.new_page(), []
        page.on("request", lambda request: asked.append(request.url) if not request.url.startswith("file:") else None)
        page.on("pageerror", lambda error: asked.append(str(error)))
        for path in (site / "index.html", site / "notebooks" / "torch.html", site / "api" / "gradscribe.html"):
            page.goto(path.as_uri())
        browser.close()
    assert [url for url in asked if not url.startswith("data:")] == []


def test_each_public_name_has_an_example_in_its_docstring() -> None:
    build = builder()
    without = {
        prefix + name
        for module, (prefix, _) in build.MODULES.items()
        if module not in (build.PYTORCHS, "gradscribe.nn")  # which say whose function they are
        for name in build.public_names(module)
        if callable(thing := getattr(importlib.import_module(module), name))
        and ">>> " not in (inspect.getdoc(thing) or "")
    }
    others = re.compile(
        r"gs\.functional\.(\w+_|upsample)"
    )  # of these the name without the underscore, and `interpolate`
    assert {name for name in without if not others.fullmatch(name)} == set()


def test_each_public_name_of_gradscribe_has_a_group_of_the_reference() -> None:
    build = builder()
    names = build.public_names("gradscribe")
    groups = {name: build.group_of(getattr(importlib.import_module("gradscribe"), name)) for name in names}
    assert set(groups.values()) == set(build.GROUPS)
    assert groups["grad"] == "Derivatives"
    assert groups["singular"] == groups["compare"] == "Check and look"


def test_each_section_says_of_each_of_its_pages_what_it_is_about(site: Path) -> None:
    for name, (_, below) in builder().SECTIONS.items():
        text = (site / f"{name}.html").read_text(encoding="utf-8")
        article = text[text.index("<article") : text.index("</article>")]
        for page in below.split():
            (words,) = re.findall(rf'href="{re.escape(page)}\.html">.*?</a>:\s*(.*?)</p>', article, re.S)
            assert len(re.sub("<[^>]*>", "", words).split()) >= 4, page
