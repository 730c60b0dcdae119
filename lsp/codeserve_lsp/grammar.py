"""Which nodes of which grammar are declarations, for `codeserve_lsp.declarations`."""

from __future__ import annotations

import attrs

__all__ = ["GRAMMARS", "Grammar"]


@attrs.frozen
class Grammar:
    """The node types of one tree-sitter grammar.

    ``through``: what stands around declarations and has no head of its own. ``groups``: what has a head and
    members that are declarations. ``signatures``: what has a body to leave out. ``wholes``: what says what it
    is in a line or a few. ``comments`` and ``between`` (attributes) may stand in front of a declaration.
    """

    through: frozenset[str]
    groups: frozenset[str]
    signatures: frozenset[str]
    wholes: frozenset[str]
    close: str = "}"
    end: str = ";"  # of a signature
    mark: str = "//"  # of a comment
    between: frozenset[str] = frozenset()
    # the child of a wrapper that is the declaration itself
    inner: tuple[str, ...] = ()


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_PYTHON = Grammar(
    through=_set("module if_statement else_clause try_statement except_clause block ERROR"),
    groups=_set("class_definition"),
    signatures=_set("function_definition"),
    wholes=_set("expression_statement type_alias_statement"),
    close="",
    end=" ...",
    mark="#",
    inner=("definition",),
)

_SCRIPT = Grammar(
    through=_set("program ERROR"),
    groups=_set("class_declaration abstract_class_declaration class internal_module module"),
    signatures=_set(
        "function_declaration generator_function_declaration method_definition function_expression"
        " function_signature method_signature abstract_method_signature arrow_function"
    ),
    wholes=_set(
        "interface_declaration type_alias_declaration enum_declaration lexical_declaration"
        " variable_declaration public_field_definition field_definition"
    ),
    inner=("declaration", "value", "right"),
)

_GO = Grammar(
    through=_set("source_file ERROR"),
    groups=frozenset(),
    signatures=_set("function_declaration method_declaration"),
    wholes=_set("type_declaration const_declaration var_declaration"),
    end="",
)

_RUST = Grammar(
    through=_set("source_file ERROR"),
    groups=_set("impl_item trait_item mod_item"),
    signatures=_set("function_item function_signature_item"),
    wholes=_set("struct_item enum_item union_item const_item static_item type_item associated_type"),
    between=_set("attribute_item"),
)

_JAVA = Grammar(
    through=_set("program ERROR"),
    groups=_set("class_declaration interface_declaration annotation_type_declaration record_declaration"),
    signatures=_set("method_declaration constructor_declaration compact_constructor_declaration"),
    wholes=_set("enum_declaration field_declaration constant_declaration"),
)

_C = Grammar(
    through=_set(
        "translation_unit preproc_if preproc_ifdef preproc_else linkage_specification declaration_list ERROR"
    ),
    groups=_set("class_specifier namespace_definition"),
    signatures=_set("function_definition"),
    wholes=_set(
        "declaration field_declaration struct_specifier union_specifier enum_specifier type_definition"
        " alias_declaration preproc_def preproc_function_def access_specifier concept_definition"
    ),
)

_CSHARP = Grammar(
    through=_set("compilation_unit file_scoped_namespace_declaration declaration_list ERROR"),
    groups=_set(
        "namespace_declaration class_declaration struct_declaration interface_declaration record_declaration"
    ),
    signatures=_set("method_declaration constructor_declaration operator_declaration"),
    wholes=_set("enum_declaration field_declaration property_declaration delegate_declaration"),
)

_PHP = Grammar(
    through=_set("program declaration_list ERROR"),
    groups=_set("class_declaration interface_declaration trait_declaration enum_declaration"),
    signatures=_set("function_definition method_declaration"),
    wholes=_set("const_declaration property_declaration"),
)

_RUBY = Grammar(
    through=_set("program body_statement ERROR"),
    groups=_set("module class"),
    signatures=_set("method singleton_method"),
    wholes=_set("assignment"),
    close="end",
    end="",
    mark="#",
)

_SHELL = Grammar(
    through=_set("program ERROR"),
    groups=frozenset(),
    signatures=_set("function_definition"),
    wholes=frozenset(),
    end="",
    mark="#",
)

GRAMMARS: dict[str, Grammar] = {
    "python": _PYTHON,
    **dict.fromkeys(("javascript", "javascriptreact", "typescript", "typescriptreact"), _SCRIPT),
    "go": _GO,
    "rust": _RUST,
    "java": _JAVA,
    "c": _C,
    "cpp": _C,
    "csharp": _CSHARP,
    "php": _PHP,
    "ruby": _RUBY,
    "shellscript": _SHELL,
}
"""By LSP language id: the grammars of `codeserve.syntax`."""
