; extends

; Expressions of Tenon's documents are CEL. A grammar for it is bufbuild/tree-sitter-cel; without one, these patterns have no
; effect. "javascript" instead of "cel" is close enough for colours.

; {expression: state.score > 80}, over: state.tasks
((_
  key: (flow_node (plain_scalar (string_scalar) @_key))
  value: (flow_node (plain_scalar (string_scalar) @injection.content)))
 (#any-of? @_key "expression" "over" "each")
 (#set! injection.language "cel"))

; The same in quotes.
((_
  key: (flow_node (plain_scalar (string_scalar) @_key))
  value: (flow_node [(double_quote_scalar) (single_quote_scalar)] @injection.content))
 (#any-of? @_key "expression" "over" "each")
 (#offset! @injection.content 0 1 0 -1)
 (#set! injection.language "cel"))

; values: {total: state.total + 1}, arguments: {text: state.question}
((_
  key: (flow_node (plain_scalar (string_scalar) @_key))
  value: (_ (_ (_ value: (flow_node (plain_scalar (string_scalar) @injection.content))))))
 (#any-of? @_key "values" "arguments")
 (#set! injection.language "cel"))

((_
  key: (flow_node (plain_scalar (string_scalar) @_key))
  value: (_ (_ (_ value: (flow_node [(double_quote_scalar) (single_quote_scalar)] @injection.content)))))
 (#any-of? @_key "values" "arguments")
 (#offset! @injection.content 0 1 0 -1)
 (#set! injection.language "cel"))

; total: >- …
((_
  key: (flow_node (plain_scalar (string_scalar) @_key))
  value: (_ (_ (_ value: (block_node (block_scalar) @injection.content)))))
 (#any-of? @_key "values" "arguments")
 (#offset! @injection.content 0 1 0 0)
 (#set! injection.language "cel"))
