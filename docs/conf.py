# ruff: noqa: INP001 - a folder of pages, not a package
"""The documentation site: Markdown by MyST, API reference by autodoc, look by Furo.

``make docs`` builds it into build/docs, without the net; a warning is an error.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from aerolog import __version__ as release

logging.getLogger("alembic").setLevel(logging.WARNING)  # imported for its docstrings

project = "aerolog"
author = "the aerolog project"
project_copyright = "the aerolog project, Apache-2.0"
version = release
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "native_api",
]

# Markdown
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
highlight_language = "none"

# API reference. Docstrings are read from the modules as they run, signatures of native ones from
# their stubs (native_api).
default_role = "code"
autoclass_content = "both"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_docstring_signature = False  # native_api takes them out
STOP_AT = "BaseException,Enum,int,str,tuple,dict,list,set,object,Protocol,Generic,Thread,TypedDict"
autodoc_default_options = {
    "members": True,
    "inherited-members": STOP_AT,
    "show-inheritance": True,
}
python_maximum_signature_line_length = 88
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
add_module_names = False

# Look: nothing is fetched from elsewhere.
html_theme = "furo"
html_title = f"aerolog {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
copybutton_exclude = ".linenos, .gp, .go"
