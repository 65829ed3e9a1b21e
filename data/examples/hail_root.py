"""The files of a data root, for the examples beside this file. Standard library only."""

import json
import os
import pathlib

ROOT = pathlib.Path(os.environ.get("HAIL_DATA", "data"))


def manifests():
    """The list of files of every storm date: of an open date the one that current.json names, else the newest."""
    open_dates = json.loads((ROOT / "current.json").read_text())["open_dates"]
    for folder in sorted((ROOT / "manifests").glob("????-??-??")):
        commit = open_dates.get(folder.name)
        name = "head.json" if commit is None else f"{commit:06d}.json"
        manifest = json.loads((folder / name).read_text())
        if manifest["files"]:
            yield manifest


def files(manifest, table):
    """Paths of the files of a table."""
    return [ROOT / file["path"] for file in manifest["files"] if file["table"] == table]
