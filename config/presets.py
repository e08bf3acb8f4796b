"""Reads a presets file of llama-server: an INI file with its arguments, in a section for each model.

`[*]` has the arguments of all models; those of a model's own section win. Nothing is guessed: what cannot be
translated is a problem, in one sentence. Pure: the caller reads the file, and chooses the backend.
"""

from __future__ import annotations

import configparser
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from config.fields import suggestion
from config.hub_artifact import REPOSITORY, SCHEME
from config.llama_arguments import ARGUMENTS, TAKEN
from config.preset_values import (
    FIELDS,
    LIBRARY,
    SERVER,
    ArgumentTexts,
    ValueProblem,
    field_value,
    opposite,
    option_values,
)

GLOBAL = "*"
MAX_BYTES = 1 << 20
MAX_SECTIONS = 1000
MAX_KEYS = 200
"""Keys of one section."""

VERSION = "version"
"""The key for a version of the format, which llama-server ignores."""

_QUANTIZATION = r":[A-Za-z0-9_-]{1,64}"
_HUB_ID = re.compile(rf"{REPOSITORY.pattern}({_QUANTIZATION})?", re.ASCII)
QUANTIZED = re.compile(rf"{REPOSITORY.pattern}{_QUANTIZATION}", re.ASCII)
"""A repository with a quantization, as llama-server names the models of its cache."""

_TOP, _NO_DEFAULTS = "\0top", "\0none"


@dataclass(frozen=True, slots=True)
class Preset:
    """A model of a presets file.

    `source` is where its file is, as a person names it: a path, `owner/name:QUANT`, or `hf://owner/name/file`.
    `fields` are those of any model. `options` has, for each backend that takes all arguments of the section,
    the backend's options.
    """

    name: str
    source: str
    fields: Mapping[str, Any]
    options: Mapping[str, Mapping[str, Any]]

    def configuration(self, backend: str) -> dict[str, Any]:
        """The model's fields as in a configuration file, without its path, for one of `options`' backends."""
        return {"backend": backend, **self.fields, **self.options[backend]}


@dataclass(frozen=True, slots=True)
class Presets:
    """The models of a file.

    `problems` are sentences: a file with one is not used. `notes` are about arguments that change nothing.
    """

    models: tuple[Preset, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def parse_presets(text: str) -> Presets:
    """Parse a presets file. It raises nothing."""
    if len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        return Presets(problems=(f"the file has more than {MAX_BYTES} bytes",))
    parser = configparser.RawConfigParser(
        delimiters=("=",),
        comment_prefixes=("#", ";"),
        inline_comment_prefixes=("#", ";"),
        default_section=_NO_DEFAULTS,
        empty_lines_in_values=False,
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    if "\0" in text:
        return Presets(problems=("the file is no text: it has a zero byte",))
    try:
        parser.read_string(f"[{_TOP}]\n{text}")
    except configparser.Error as error:
        return Presets(problems=(_syntax_problem(error),))
    problems: list[str] = []
    notes: list[str] = []
    names = [name for name in parser.sections() if name != _TOP]
    if len(names) > MAX_SECTIONS:
        return Presets(problems=(f"the file has {len(names)} sections; the most are {MAX_SECTIONS}",))
    problems += [
        f"{_shown(key)} stands before the first section: put it into [{GLOBAL}]"
        for key in parser[_TOP]
        if key != VERSION
    ]
    sections = [_section(name.strip(), parser[name], problems, notes) for name in names]
    twice = [name for name, count in Counter(section.name for section in sections).items() if count > 1]
    problems += [f"the section [{_shown(name)}] is there twice" for name in twice]
    common = next((section for section in sections if section.name == GLOBAL), ArgumentTexts(GLOBAL))
    problems += [
        f"[{GLOBAL}] has {common.keys[name]}: each model names its own file"
        for name in ("model", "hf-repo", "hf-file", "mmproj", "model-draft", "lora")
        if name in common.texts
    ]
    models = []
    for section in sections:
        if section.name != GLOBAL and (preset := _preset(section.over(common), problems)) is not None:
            models.append(preset)
    if problems:
        return Presets(problems=tuple(dict.fromkeys(problems)), notes=tuple(notes))
    return Presets(tuple(models), (), tuple(notes))


def _section(name: str, raw: Mapping[str, str], problems: list[str], notes: list[str]) -> ArgumentTexts:
    """The arguments of a section that the platform takes."""
    found = ArgumentTexts(name)
    where = f"[{_shown(name)}]"
    if len(raw) > MAX_KEYS:
        problems.append(f"{where} has {len(raw)} keys; the most are {MAX_KEYS}")
        return found
    for key, text in raw.items():
        argument = ARGUMENTS.get(key)
        if key == VERSION:
            continue
        if argument is None:
            problems.append(f"{where} {_shown(key)} is no argument of llama-server{_nearest(key)}")
        elif argument.refusal is not None:
            problems.append(f"{where} {key} {argument.refusal}")
        elif argument.ignored is not None:
            notes.append(f"{where} {key} changes nothing: {argument.ignored}")
        elif argument.name in found.texts:
            problems.append(f"{where} {key} and {found.keys[argument.name]} are the same argument")
        elif "\n" in text:
            problems.append(f"{where} {key} has more than one line: its next line begins with a space")
        else:
            found.texts[argument.name] = opposite(text) if argument.is_negated else text
            found.keys[argument.name] = key
    return found


def _preset(section: ArgumentTexts, problems: list[str]) -> Preset | None:
    """The model of a section that has all its arguments; None with a problem."""
    where, before = f"[{_shown(section.name)}]", len(problems)
    fields: dict[str, Any] = {"on_demand": "load"}
    options: dict[str, dict[str, Any]] = {SERVER: {}, LIBRARY: {}}
    only: dict[str, list[str]] = {SERVER: [], LIBRARY: []}
    for name, text in section.texts.items():
        try:
            if name in FIELDS:
                fields |= field_value(name, text)
                continue
            values = option_values(name, text, section)
        except ValueProblem as problem:
            problems.append(f"{where} {section.keys[name]} {problem}")
            continue
        if values is None:
            continue
        for backend, below in options.items():
            below.update(values.get(backend, {}))
        if len(values) == 1:
            only[next(iter(values))].append(section.keys[name])
    source = _source(section)
    repository = section.texts.get("hf-repo")
    if repository and not _HUB_ID.fullmatch(repository):
        problems.append(f"{where} {section.keys['hf-repo']} must be owner/name or owner/name:QUANT")
    elif source is None:
        problems.append(f"{where} names no file: set model to its path, or hf-repo to its repository")
    if only[SERVER] and only[LIBRARY]:
        problems.append(
            f"{where} {only[LIBRARY][0]} is an argument for the backend {LIBRARY} alone, and"
            f" {only[SERVER][0]} one for {SERVER} alone: leave one of them out"
        )
    if source is None or len(problems) > before:
        return None
    fitting = [backend for backend in (SERVER, LIBRARY) if not any(only[b] for b in only if b != backend)]
    return Preset(section.name, source, fields, {backend: options[backend] for backend in fitting})


def _source(section: ArgumentTexts) -> str | None:
    """Where the model's file is; None if no argument names it."""
    repository, file = section.texts.get("hf-repo"), section.texts.get("hf-file")
    if repository:
        return repository if not file else f"{SCHEME}{repository.partition(':')[0]}/{file}"
    return section.texts.get("model") or (section.name if QUANTIZED.fullmatch(section.name) else None)


# ---- sentences


def _nearest(key: str) -> str:
    """The end of a sentence about an unknown key: the nearest name, if one is near."""
    found = suggestion(key.replace("_", "-").lower(), TAKEN)
    return found if found.startswith("; did") else ""


def _syntax_problem(error: configparser.Error) -> str:
    """What is wrong with the form of the file. Its first line, which `parse_presets` adds, does not count."""
    if isinstance(error, configparser.DuplicateSectionError):
        return f"the section [{_shown(str(error.section))}] is there twice"
    if isinstance(error, configparser.DuplicateOptionError):
        return f"[{_shown(str(error.section))}] {_shown(str(error.option))} is there twice"
    lines = [line for line, _ in _lines_of(error)]
    return (
        f"line {min(lines) - 1} is neither a section nor `key = value`"
        if lines
        else "the file is no INI file"
    )


def _lines_of(error: configparser.Error) -> Iterator[tuple[int, str]]:
    yield from getattr(error, "errors", ())


def _shown(text: str) -> str:
    """A name of the file in a sentence: without control characters, and cut."""
    printable = "".join(char if char.isprintable() else "?" for char in text)
    return printable if len(printable) <= 80 else f"{printable[:80]}..."
