"""Looks at the built site in headless Chromium: search, width, contrast, keyboard, plots.

usage: browse.py [--pictures FOLDER] [--chromium PATH] [PLACE ...]

Looks at these places of pages (gpu/ portal/) alone; without any at all pages, search and plots.
Needs playwright and axe-playwright-python (the group `docs-check`), and Chromium.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import site_pages
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, TimeoutError, sync_playwright

SITE = Path(__file__).resolve().parents[2] / "build" / "site"

QUESTIONS = {
    "how do I install it": ("getting-started/", "building/"),
    "which scheme should I use": ("start-here/", "choosing/"),
    "how to use a GPU": ("gpu/", "building/"),
    "compare encrypted numbers": ("recipes/", "applications/sign/", "start-here/", "jobs/"),
    "is it secure": ("security/", "project/security/"),
    "how to save keys in a file": ("cli/", "python-api/", "getting-started/", "file-format/"),
    "mean of encrypted values": ("tutorials/bgv-statistics/", "bgv/", "jobs/"),
    "coming from OpenFHE": ("openfhe-migration/", "ckks-from-others/"),
    "what is bootstrapping": ("start-here/", "ckks/", "algorithm/", "glossary/"),
    "any function with a lookup table": ("tutorials/tables/", "recipes/", "python-api/"),
    "patents": ("methods/",),
    "why was my operation refused": ("noise/", "project/security/", "parameters/"),
    "which python version": ("getting-started/",),
    "what platforms are supported": ("getting-started/",),
    "how large are keys": ("start-here/",),
    "64 bit integers": ("recipes/",),
    "limb": ("glossary/",),
    "licence": ("methods/", "", "project/packaging/"),
    "error message": ("noise/", "glossary/"),
    "floating point numbers": ("ckks/", "start-here/"),
    "division": ("ckks/", "choosing/"),
    "how fast is it": ("portal/", ""),
    "GPU not found": ("gpu/", "building/"),
    "matrix multiplication": ("jobs/", "recipes/", "ckks/", "bgv/"),
    "sort": ("recipes/",),
    "max of two values": ("jobs/", "recipes/"),
    "if statement": ("recipes/",),
    "how many multiplications can I do": ("start-here/",),
    "how long does compiling take": ("getting-started/", "building/"),
    "server and client in different processes": ("jobs/",),
}
"""What newcomers type, and which pages answer it."""

PLACES = [site_pages.address(place) for place in site_pages.navigation()]
"""All pages."""

WIDTHS = (1280, 390)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of the folder."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def found(page: Page, question: str, base: str) -> list[str]:
    """The first three pages that the site's search gives."""
    page.goto(base)
    links: list[str] = []
    for _ in range(30):  # what is typed before the page's script listens is lost
        page.fill("[data-md-component=search-query]", "")
        page.fill("[data-md-component=search-query]", question)
        with contextlib.suppress(TimeoutError):
            page.wait_for_selector(".md-search-result__item", timeout=4000)
            page.wait_for_timeout(400)  # the list is made anew while one types
            links = page.eval_on_selector_all(
                ".md-search-result__item > a", "all => all.slice(0, 3).map((a) => a.href)"
            )
        if links:
            break
    return [link.removeprefix(base).partition("?")[0].partition("#")[0] for link in links]


def violations(page: Page, place: str, options: dict[str, Any]) -> Iterator[str]:
    """What axe finds on a page."""
    options = {**options, "resultTypes": ["violations"]}  # axe does not list all that is well
    for each in Axe().run(page, options=options).response["violations"]:
        where = [node["target"] for node in each["nodes"][:3]]
        yield f"{place}: {each['id']} ({len(each['nodes'])}): {each['help']}: {where}"


def faults(page: Page, place: str, width: int) -> Iterator[str]:
    """What is wrong with a page at a width."""
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    if wide > 1:
        yield f"{place} at {width}: {wide} pixels wider than the window"
    yield from violations(page, f"{place} at {width}", {"runOnly": ["wcag2a", "wcag2aa"]})
    if width == WIDTHS[0]:
        page.emulate_media(color_scheme="dark")
        page.wait_for_timeout(400)
        contrast = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
        yield from violations(page, f"{place} in the dark", contrast)
        page.emulate_media(color_scheme="light")
        seen = set()
        for _ in range(25):
            page.keyboard.press("Tab")
            shown = page.evaluate(
                "(() => { const e = document.activeElement, s = getComputedStyle(e);"
                "return [e.tagName + '.' + e.className + '#' + (e.id || e.href || ''),"
                " s.outlineStyle !== 'none' && s.outlineWidth !== '0px']; })()"
            )
            seen.add(shown[0])
            if not shown[1] and not shown[0].startswith(("BODY", "INPUT")):
                yield f"{place}: nothing shows that {shown[0]} has the focus"
        if len(seen) < 10:
            yield f"{place}: the keyboard reaches {len(seen)} elements only"


def plots(page: Page, base: str) -> Iterator[str]:
    """What is wrong with the plots: each is drawn, and a point and a button show a record."""
    page.goto(f"{base}portal/")
    charts = page.locator(".whorl-chart")
    for number in range(charts.count()):
        chart = charts.nth(number)
        chart.scroll_into_view_if_needed()
        try:
            chart.locator(".points path").first.wait_for(state="attached")
        except Exception:
            yield f"portal: plot {number} has no points"
    below = page.locator(".whorl-below").first
    below.locator("summary").click()
    below.locator(".whorl-open").first.click()
    if "bench/results/" not in page.locator("dialog").inner_text():
        yield "portal: the button shows no record"
    page.keyboard.press("Escape")
    point = charts.first.locator(".points path").first
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_timeout(300)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_timeout(300)
    if not page.locator("dialog").count():
        yield "portal: a click on a point shows no record"
    page.goto(f"{base}performance/records/#h200-gpu")
    page.wait_for_selector(".whorl-records[open] table")
    page.goto(f"{base}gpu/")
    page.locator("a[href$='?commit=385fbd2&op=memory#h200-gpu']").click()
    page.wait_for_selector("dialog")
    if {"385fbd2", "memory"} - set(page.locator("dialog").inner_text().split()):
        yield "gpu: a click on a commit does not show its record"


def main() -> None:
    """Prints what is wrong; ends with 1 if anything is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("places", nargs="*")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    options = parser.parse_args()
    if not options.chromium:
        raise SystemExit("chromium is not installed; name one: --chromium PATH")
    wrong: list[str] = []

    def note(faults: Iterable[str]) -> None:
        for fault in faults:
            print(f"WRONG: {fault}", flush=True)
            wrong.append(fault)

    with served(SITE) as base, sync_playwright() as tools:
        browser = tools.chromium.launch(
            executable_path=options.chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": WIDTHS[0], "height": 900})
        page.set_default_timeout(120_000)
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(f"{page.url}: {error}"))
        for question, answers in () if options.places else QUESTIONS.items():
            pages = found(page, question, base)
            print(f"{question}: {', '.join(pages)}", flush=True)
            if not set(answers) & set(pages):
                note([f"{question!r} gives {pages}, not {answers}"])
        note(() if options.places else plots(page, base))
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for place in options.places or PLACES:
                print(f"{place or 'home'} at {width}", flush=True)
                page.goto(base + place)
                page.wait_for_timeout(800)
                note(faults(page, place or "home", width))
                if options.pictures:
                    options.pictures.mkdir(parents=True, exist_ok=True)
                    name = place.strip("/").replace("/", "-") or "home"
                    page.screenshot(path=options.pictures / f"{name}-{width}.png")
        note(errors)
        browser.close()
    print("\n".join(wrong) or "nothing is wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
