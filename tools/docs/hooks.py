"""What MkDocs calls while it builds the site: pages from outside docs/, links, Markdown copies."""

from __future__ import annotations

from pathlib import Path

import plotly
import site_cpp
import site_llms
import site_notebooks
import site_pages
import site_python
import site_records
import site_search
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

made: dict[str, str] = {}
"""Markdown of pages that are made of sources and records, by their places."""
texts: dict[str, tuple[str, str]] = {}
"""Titles and Markdown of pages, by their places."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds pages and files that do not lie in docs/."""
    for path, place in site_pages.OUTSIDE.items():
        files.append(File.generated(config, place, abs_src_path=str(site_pages.ROOT / path)))
    for place, path in site_pages.copied_sources().items():
        files.append(File.generated(config, place, abs_src_path=str(site_pages.ROOT / path)))
    for file in site_records.files():
        place = f"records/{file.parent.name}/{file.name}"
        files.append(File.generated(config, place, abs_src_path=str(file)))
    script = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    files.append(File.generated(config, "assets/plotly.min.js", abs_src_path=str(script)))
    for tutorial in sorted((site_pages.ROOT / "docs" / "tutorials").glob("*.md")):
        text = site_notebooks.notebook(tutorial.read_text(encoding="utf-8"))
        files.append(File.generated(config, f"tutorials/{tutorial.stem}.ipynb", content=text))
    made.update(site_python.pages())
    made.update(site_cpp.pages())
    made["performance/records.md"] = site_records.page()
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """GitHub's Markdown becomes that of Python, with links between the site's places."""
    if page.file.src_uri not in made:
        markdown = site_pages.for_site(markdown, page.file.src_uri)
    if page.file.src_uri.startswith("tutorials/"):
        markdown = site_notebooks.with_link(markdown, page.file.src_uri)
    page.meta.update(site_search.meta(page.file.src_uri))
    texts[page.file.src_uri] = (str(page.title), markdown)
    return markdown


def on_post_build(config: MkDocsConfig) -> None:
    """Writes llms.txt and the Markdown copies."""
    site_llms.write(Path(config.site_dir), config.nav or [], texts, str(config.site_description))
