"""The documentation site: MyST pages, and pages that `generate.py` writes from the registries."""

from __future__ import annotations

import sys
from pathlib import Path

from coevo import __version__

sys.path.insert(0, str(Path(__file__).parent))

from extension import add_to
from generate import sidebar_groups, write_pages
from sphinx.application import Sphinx

project = "coevo"
author = "the coevo authors"
copyright = author
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_parts"]
smartquotes = False
html_theme = "furo"
html_title = f"coevo {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
toc_object_entries = False

write_pages(Path(__file__).parent)


def setup(app: Sphinx) -> None:
    """Add what Sphinx and the theme lack."""
    add_to(app, sidebar_groups())
