"""Open only what lies in an HDF5 file itself: `open_group`, `open_dataset`, `find_outside`.

HDF5 follows links to other files, and it reads the numbers of a dataset from other files if the
dataset asks for it. So a stranger's file could make a program read any file of its user, or wait
for a pipe. This project writes neither. Both are refused before HDF5 follows them:

    links       hard links alone; no soft, external or user-defined ones
    layouts     compact, contiguous and chunked; no virtual datasets, which are made up of others
    storage     no external files of raw numbers
    filters     Zstandard and gzip; HDF5 would load any other one from a folder of plug-ins
"""

import h5py
import hdf5plugin
from h5py import h5d, h5g, h5l, h5o, h5z

LINKS = {h5l.TYPE_SOFT: "a soft link", h5l.TYPE_EXTERNAL: "a link to another file"}
LAYOUTS = (h5d.COMPACT, h5d.CONTIGUOUS, h5d.CHUNKED)
FILTERS = (h5z.FILTER_DEFLATE, hdf5plugin.Zstd.filter_id)


class Outside(OSError):
    """An object is refused, since its contents lie elsewhere; the words follow its name."""


def open_group(parent: h5g.GroupID, name: str) -> h5g.GroupID:
    """Raises `Outside`, and what h5py raises for a group that is missing or damaged."""
    check_link(parent, name.encode())
    return h5g.open(parent, name.encode())


def open_dataset(parent: h5g.GroupID, name: str) -> h5d.DatasetID:
    """Raises `Outside`, and what h5py raises for a dataset that is missing or damaged."""
    check_link(parent, name.encode())
    opened = h5d.open(parent, name.encode())
    check_storage(opened)
    return opened


def check_link(parent: h5g.GroupID, name: bytes) -> None:
    kind = parent.links.get_info(name).type
    if kind != h5l.TYPE_HARD:
        raise Outside(f"is {LINKS.get(kind, 'a link of an unknown kind')}, which is not followed")


def check_storage(dataset: h5d.DatasetID) -> None:
    """Raise `Outside` by how the dataset was created.

    Nothing else is asked: even its shape may make HDF5 open other files.
    """
    created = dataset.get_create_plist()
    if created.get_layout() not in LAYOUTS:
        raise Outside("is a virtual dataset, made up of others, which are not read")
    if created.get_external_count():
        raise Outside("keeps its values in another file, which is not read")
    unknown = {created.get_filter(k)[0] for k in range(created.get_nfilters())} - set(FILTERS)
    if unknown:
        raise Outside(f"is packed with the filter {min(unknown)}, which this program does not use")


def find_outside(file: h5py.File) -> str:
    """Name the first object of a file that is refused, and say why; '' if there is none."""

    def look(name: bytes, link: h5l.LinkInfo) -> str | None:
        parent, _, last = name.rpartition(b"/")
        try:
            check_link(h5g.open(file.id, parent) if parent else file.id, last)
            if h5o.get_info(file.id, name).type == h5o.TYPE_DATASET:
                check_storage(h5d.open(file.id, name))
        except Outside as error:
            return f"{name.decode('utf-8', 'replace')} {error}"
        return None

    return file.id.links.visit(look, info=True) or ""
