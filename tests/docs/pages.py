"""The pages of the documentation, and the commands that they show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^ *(?P<mark>`{3,}|~{3,})(?P<kind>\w*)")
_COMMENT = re.compile(r"(^|\s+)# .*$")
_VARIABLE = re.compile(r"[A-Z_]+=\S*")
_NAME_OF_SCRIPT = re.compile(r"^# (\S+\.sh)$", re.MULTILINE)
_INLINE = re.compile(r"`((?:\./)?heliograph [^`\n]+)`")
_PROMPT = "$ "
_SCRIPT = "#!"
_SHELL = ("sh", "bash", "shell", "console")
# Blocks without a kind hold output and settings too: a line of theirs is a command if it begins with one of these.
_PROGRAM = re.compile(
    r"\./(heliograph|test)|heliograph|(bin/)?(connect|kafka)-mirror-maker|python|pip|mkdocs|curl|man|spark-submit"
    r"|docker|helm|kubectl|systemctl|journalctl"
)


@dataclass(frozen=True)
class Command:
    """One command, as a page shows it, without prompt and comment."""

    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"{self.page}:{self.line}"

    @cached_property
    def words(self) -> list[str]:
        """Program and arguments, without variables in front, and without the place of a program in a clone."""
        words = shlex.split(self.text)
        while words and _VARIABLE.fullmatch(words[0]):
            del words[0]
        return [words[0].removeprefix("./").removeprefix("bin/"), *words[1:]]

    @property
    def program(self) -> str:
        """What is called."""
        return self.words[0]


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind, the number of its first line, and its lines."""

    page: str
    kind: str
    first: int
    lines: tuple[str, ...]


def pages() -> list[Path]:
    """README and all pages of the site."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands() -> list[Command]:
    """Every command of every page, in the order of the pages."""
    return [command for page in pages() for block in blocks(page) for command in commands_of(block)]


def inline_commands() -> Iterator[Command]:
    """Calls of heliograph in the midst of text, which may have placeholders in them."""
    for page in pages():
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            for text in _INLINE.findall(line):
                yield Command(_name(page), number, text)


def blocks(page: Path) -> Iterator[Block]:
    """All fenced blocks of a page."""
    mark, kind, first, lines = "", "", 0, list[str]()
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if mark and line.strip() == mark:
            yield Block(_name(page), kind, first, tuple(lines))
            mark = ""
        elif mark:
            lines.append(line.strip())
        elif found := _FENCE.match(line):
            mark, kind, first, lines = found["mark"], found["kind"], number + 1, []
    assert not mark, f"{page}: a block has no end"


def commands_of(block: Block) -> Iterator[Command]:
    """The commands of a block; a script is one. Where there are prompts, all other lines are output."""
    if block.kind not in ("", *_SHELL):
        return
    if block.lines and block.lines[0].startswith(_SCRIPT):
        (name,) = _NAME_OF_SCRIPT.findall("\n".join(block.lines))
        yield Command(block.page, block.first, f"sh {name}")
        return
    has_prompts = any(line.startswith(_PROMPT) for line in block.lines)
    for number, line in _joined(block):
        text = _COMMENT.sub("", line.removeprefix(_PROMPT))
        is_command = line.startswith(_PROMPT) if has_prompts else block.kind in _SHELL or _begins_a_command(text)
        if text and is_command:
            yield Command(block.page, number, text)


def _begins_a_command(text: str) -> bool:
    words = [word for word in text.split() if not _VARIABLE.fullmatch(word)]
    return bool(words and _PROGRAM.fullmatch(words[0]))


def _joined(block: Block) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; one that ends in a backslash goes on in the next."""
    begun, first = "", 0
    for number, line in enumerate(block.lines, block.first):
        first = first if begun else number
        begun += line
        if begun.endswith("\\"):
            begun = begun[:-1]
        else:
            yield first, begun
            begun = ""


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))
