"""What Sphinx is told of the documentation site, which `python docs/build_site.py FOLDER` builds."""

project = "gradscribe"
author = "The gradscribe authors"
copyright = "The gradscribe authors, Apache-2.0"
extensions = ["myst_nb"]
html_theme = "pydata_sphinx_theme"
html_title = "gradscribe"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False, "show_toc_level": 2, "navigation_with_keys": False, "header_links_before_dropdown": 8,
    "navbar_persistent": ["search-button"], "footer_start": ["copyright"],
    "footer_end": [], "secondary_sidebar_items": ["page-toc"], "navbar_align": "left", "logo": {"text": "gradscribe"},
}  # fmt: skip
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_sidebars = {"notebooks/quickstart": []}  # which has no pages below it
html_context = {"default_mode": "auto"}
nb_execution_mode = "off"  # the notebooks are run by the tests, and hold what they show
myst_heading_anchors = 4
myst_enable_extensions = []
suppress_warnings = ["misc.highlighting_failure", "mystnb.unknown_mime_type"]
highlight_language = "text"
