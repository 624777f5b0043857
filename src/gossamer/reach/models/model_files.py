"""The files of a model: a folder, or an installed package that carries one, as model hubs lay them out."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec

LOCAL: Final = "local:"  # before the folder or package of a model that runs here
MAX_WEIGHT_BYTES: Final = 1_500_000_000
MAX_DEPTH: Final = 4  # folders of a package
_CONFIG: Final = "config.json"
_TOKENIZER: Final = "tokenizer.json"
_WEIGHTS: Final = "model.safetensors"
_MODULES: Final = "modules.json"
_POOLING: Final = "1_Pooling/config.json"
_KNOWN_MODULES: Final = frozenset(("Transformer", "Pooling", "Normalize", "StaticEmbedding"))


_Shape = TypeVar("_Shape")


class UnusableModel(Exception):
    """What was named is no model that can be run here."""


class ModelFiles(NamedTuple):
    config: Path
    tokenizer: Path
    weights: Path
    takes_first: bool  # a text is what its first token says, not the mean of all


class _Pooling(msgspec.Struct):
    pooling_mode_cls_token: bool = False
    pooling_mode_mean_tokens: bool = True


class _Module(msgspec.Struct):
    type: str


def find_model(name: str) -> ModelFiles:
    """The files of a model, named as `local:FOLDER` or `local:PACKAGE`. Raises `UnusableModel`."""
    place = name.removeprefix(LOCAL)
    folder = _complete_folder(Path(place)) if "/" in place else _folder_of_package(place)
    if folder is None:
        raise UnusableModel(f"{place} has no folder with {_CONFIG}, {_TOKENIZER} and {_WEIGHTS}")
    if (folder / _WEIGHTS).stat().st_size > MAX_WEIGHT_BYTES:
        raise UnusableModel(f"{folder / _WEIGHTS} is larger than {MAX_WEIGHT_BYTES // 10**6} MB")
    try:
        pooling = _read(folder / _POOLING, _Pooling, _Pooling())
        modules = _read(folder / _MODULES, list[_Module], [])
    except msgspec.DecodeError as error:
        raise UnusableModel(f"{folder}: {error}") from None
    unknown = {one.type.rpartition(".")[2] for one in modules} - _KNOWN_MODULES
    if unknown or not (pooling.pooling_mode_cls_token or pooling.pooling_mode_mean_tokens):
        raise UnusableModel(
            f"{folder} needs {', '.join(sorted(unknown)) or 'another pooling'}, not known here"
        )
    return ModelFiles(
        folder / _CONFIG, folder / _TOKENIZER, folder / _WEIGHTS, pooling.pooling_mode_cls_token
    )


def _folder_of_package(package: str) -> Path | None:
    try:
        spec = find_spec(package)  # of a package at the top, this imports nothing
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise UnusableModel(f"the package {package} is not installed")
    roots = [Path(root) for root in spec.submodule_search_locations or ()]
    found = (_complete_folder(folder) for root in roots for folder in _folders(root, MAX_DEPTH))
    return next(filter(None, found), None)


def _folders(root: Path, depth: int) -> Iterator[Path]:
    yield root
    if depth:
        for below in sorted(root.iterdir()):
            if below.is_dir():
                yield from _folders(below, depth - 1)


def _complete_folder(folder: Path) -> Path | None:
    has_all = all((folder / name).is_file() for name in (_CONFIG, _TOKENIZER, _WEIGHTS))
    return folder if has_all else None


def _read(path: Path, shape: type[_Shape], default: _Shape) -> _Shape:
    return msgspec.json.decode(path.read_bytes(), type=shape) if path.is_file() else default
