"""What a document imports, by its syntax tree. Where that is on disk, `codeserve_lsp.resolve` knows."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator

import attrs
from tree_sitter import Node

from codeserve_lsp.parsing import Pace, Parsed, parse

__all__ = ["Import", "imports"]


@attrs.frozen
class Import:
    """One import. ``target`` is written as in its language: ``..a.b``, ``./c``, ``crate::d::E``, ``f.g.*``.

    ``names`` are those that are taken from there, none for all of it.
    """

    target: str
    names: tuple[str, ...] = ()


Finder = Callable[[Node, Parsed], Iterator[Import]]


def imports(text: str, language: str, pace: Pace) -> list[Import]:
    """The imports of a text in their order, each once; none for a language whose imports are not known.

    Raises: codeserve_lsp.parsing.TooSlow.
    """
    language = _LIKE.get(language, language)
    finders = _FINDERS.get(language)
    parsed = parse(text, language, pace) if finders else None
    if finders is None or parsed is None:
        return []
    found: dict[Import, None] = {}
    waiting = [parsed.root]
    while waiting:
        node = waiting.pop()
        pace()
        finder = finders.get(node.type)
        if finder is not None:
            with contextlib.suppress(RecursionError):  # nested deeper than any code; the others count
                found |= dict.fromkeys(finder(node, parsed))
        else:
            waiting += reversed(node.named_children)
    return list(found)


def _unquoted(node: Node | None, parsed: Parsed) -> str:
    return parsed.text(node).strip("\"'`") if node is not None else ""


def _names(nodes: list[Node], parsed: Parsed) -> tuple[str, ...]:
    """What is imported, by its name where it is declared."""
    named = (node.child_by_field_name("name") or node for node in nodes)
    return tuple(parsed.text(node) for node in named)


def _python_import(node: Node, parsed: Parsed) -> Iterator[Import]:
    for name in _names(node.children_by_field_name("name"), parsed):
        yield Import(name)


def _python_from(node: Node, parsed: Parsed) -> Iterator[Import]:
    module = node.child_by_field_name("module_name")
    if module is not None:
        target = re.sub(r"\s", "", parsed.text(module))
        yield Import(target, _names(node.children_by_field_name("name"), parsed))


def _script_import(node: Node, parsed: Parsed) -> Iterator[Import]:
    source = node.child_by_field_name("source")
    if source is None:  # an export of the file's own
        for child in node.named_children:
            yield from _script_calls(child, parsed)
        return
    specifiers = [
        each
        for clause in node.named_children
        for part in (clause, *clause.named_children)
        for each in part.named_children
        if each.type in ("import_specifier", "export_specifier")
    ]
    yield Import(_unquoted(source, parsed), _names(specifiers, parsed))


def _script_calls(node: Node, parsed: Parsed) -> Iterator[Import]:
    if node.type == "call_expression":
        yield from _script_call(node, parsed)
    else:
        for child in node.named_children:
            yield from _script_calls(child, parsed)


def _script_call(node: Node, parsed: Parsed) -> Iterator[Import]:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None:
        return
    first = arguments.named_children[0] if arguments.named_children else None
    if parsed.text(function) in ("require", "import") and first is not None and first.type == "string":
        yield Import(_unquoted(first, parsed))
    else:  # `require("./a")()`, or a call with one inside
        for child in node.named_children:
            yield from _script_calls(child, parsed)


def _go_import(node: Node, parsed: Parsed) -> Iterator[Import]:
    yield Import(_unquoted(node.child_by_field_name("path"), parsed))


def _rust_module(node: Node, parsed: Parsed) -> Iterator[Import]:
    name = node.child_by_field_name("name")
    if name is not None and node.child_by_field_name("body") is None:
        yield Import(f"self::{parsed.text(name)}")


def _rust_use(node: Node, parsed: Parsed) -> Iterator[Import]:
    argument = node.child_by_field_name("argument")
    if argument is not None:
        for path in _rust_paths(argument, parsed):
            yield Import(path, (path.rpartition("::")[2],))


def _rust_paths(node: Node, parsed: Parsed) -> Iterator[str]:
    """``a::{b, c as d, e::*}`` as ``a::b``, ``a::c``, ``a::e``."""
    if node.type == "use_as_clause":
        path = node.child_by_field_name("path")
        if path is not None:
            yield parsed.text(path)
    elif node.type in ("use_list", "use_wildcard"):
        for child in node.named_children:
            yield from _rust_paths(child, parsed)
    elif node.type == "scoped_use_list":
        path, inner = node.child_by_field_name("path"), node.child_by_field_name("list")
        before = parsed.text(path) if path is not None else ""
        for each in _rust_paths(inner, parsed) if inner is not None else ():
            yield before if each == "self" else f"{before}::{each}"
    else:
        yield re.sub(r"\s", "", parsed.text(node))


def _java_import(node: Node, parsed: Parsed) -> Iterator[Import]:
    words = parsed.text(node).rstrip("; \n").split()
    if len(words) > 1:
        target = "".join(words[2:] if words[1] == "static" else words[1:])
        yield Import(target if words[1] != "static" else target.rpartition(".")[0])


def _include(node: Node, parsed: Parsed) -> Iterator[Import]:
    path = node.child_by_field_name("path")
    if path is not None and path.type == "string_literal":
        yield Import(_unquoted(path, parsed))


def _ruby_call(node: Node, parsed: Parsed) -> Iterator[Import]:
    method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    if method is not None and arguments is not None and parsed.text(method) == "require_relative":
        yield Import(_unquoted(arguments.named_children[0], parsed) if arguments.named_children else "")


_SCRIPT: dict[str, Finder] = {
    "import_statement": _script_import,
    "export_statement": _script_import,
    "call_expression": _script_call,
}
_C: dict[str, Finder] = {"preproc_include": _include}

# Languages without a grammar that import as another one does.
_LIKE = {"objective-c": "c", "objective-cpp": "cpp", "cuda-cpp": "cpp"}
_FINDERS: dict[str, dict[str, Finder]] = {
    "python": {"import_statement": _python_import, "import_from_statement": _python_from},
    **dict.fromkeys(("javascript", "javascriptreact", "typescript", "typescriptreact"), _SCRIPT),
    "go": {"import_spec": _go_import},
    "rust": {"mod_item": _rust_module, "use_declaration": _rust_use},
    "java": {"import_declaration": _java_import},
    "c": _C,
    "cpp": _C,
    "ruby": {"call": _ruby_call},
}
