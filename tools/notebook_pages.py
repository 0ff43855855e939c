"""Notebooks as pages of the docs: a hook of MkDocs that turns each into Markdown, with the pictures that it holds."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from nbconvert import MarkdownExporter


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The files of the docs, with a page and its pictures for each notebook."""
    for notebook in [file for file in files if file.src_uri.endswith(".ipynb")]:
        source = Path(str(notebook.abs_src_path))
        exporter = MarkdownExporter()  # type: ignore[no-untyped-call]
        text, found = exporter.from_filename(str(source), {"unique_key": source.stem})
        files.append(File.generated(config, str(Path(notebook.src_uri).with_suffix(".md")), content=text))
        for name, picture in found["outputs"].items():
            files.append(File.generated(config, f"{Path(notebook.src_uri).parent}/{name}", content=picture))
    return files
