"""The documentation site: MyST pages, and pages that `generate.py` writes from the registries."""

from __future__ import annotations

import sys
from pathlib import Path

from coevo import __version__

sys.path.insert(0, str(Path(__file__).parent))

from generate import write_pages

project = "coevo"
author = "the coevo authors"
release = version = __version__
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"coevo {__version__}"
html_static_path = ["_static"]
html_css_files = ["prompts.css"]

write_pages(Path(__file__).parent)
