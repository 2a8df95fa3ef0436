//! `/docs` and `/problems/{code}` as HTML pages.
