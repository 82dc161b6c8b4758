-- neovim.lua - opens a document with a mistake, as a person would with samples/editors/neovim/tenon.lua, and repairs it.

local file = vim.env.DOCUMENT

local function fail(why)
  io.stderr:write('failed: ' .. why .. '\n')
  vim.cmd('cquit 1')
end

local function wait(what, condition)
  local ok = vim.wait(60000, condition, 10)
  if not ok then fail('waited for ' .. what) end
end

local function try()
  vim.g.tenon_path = vim.env.TENON
  vim.cmd('filetype on')
  vim.cmd('luafile ' .. vim.env.SETTINGS)
  vim.cmd('edit ' .. file)
  if vim.bo.filetype ~= 'yaml' then fail('the file type is ' .. vim.bo.filetype) end
  local diagnostics = function() return vim.diagnostic.get(0) end

  wait('a diagnostic', function() return #diagnostics() == 1 end)
  local found = diagnostics()[1]
  local line = vim.fn.search('passthroug}', 'n')
  local column = vim.fn.getline(line):find('passthroug}') -- bytes, from 1; an emoji is before it
  if found.lnum ~= line - 1 or found.col ~= column - 1 or found.end_col ~= column - 1 + #'passthroug' then
    fail('the diagnostic is at ' .. found.lnum .. ':' .. found.col .. ', expected ' .. (line - 1) .. ':' .. (column - 1))
  end
  if not found.message:find('unknown node type') or found.source ~= 'tenon' then fail('the message is ' .. found.message) end

  local clients = vim.lsp.buf_get_clients(0)
  local id, client = next(clients)
  if not client or client.name ~= 'tenon' then fail('no client is attached') end
  local function ask(method, row, byte)
    local params = vim.lsp.util.make_position_params()
    params.position = { line = row - 1, character = vim.str_utfindex(vim.fn.getline(row), byte) }
    local answer = client.request_sync(method, params, 60000, 0)
    if not answer or answer.err then fail(method .. ': ' .. vim.inspect(answer)) end
    return answer.result
  end
  if client.server_capabilities.hoverProvider then
    local hover = ask('textDocument/hover', vim.fn.search('^channels', 'n'), 2)
    if not hover or #hover.contents.value == 0 then fail('no hover') end
  end
  if client.server_capabilities.completionProvider then
    local items = vim.lsp.util.extract_completion_items(ask('textDocument/completion', line, column + 3))
    local offered = false
    for _, item in ipairs(items) do offered = offered or item.label == 'passthrough' end
    if not offered then fail('`passthrough` is not offered: ' .. vim.inspect(items)) end
  end

  if #vim.tbl_filter(function(lens) return vim.lsp.commands[lens.command.command] ~= nil end, ask('textDocument/codeLens', 1, 0)) == 0 then
    fail('no code lens that the settings can run')
  end

  -- An incremental change, with the cursor behind the emoji.
  vim.api.nvim_buf_set_text(0, line - 1, column - 1 + #'passthroug', line - 1, column - 1 + #'passthroug', { 'h' })
  wait('no diagnostics', function() return #diagnostics() == 0 end)
  local repaired = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  vim.cmd('silent %delete')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'nodes: [', 'edges: ]' })
  wait('a syntax error', function() return #diagnostics() > 0 end)
  vim.api.nvim_buf_set_lines(0, 0, -1, false, repaired)
  wait('no diagnostics', function() return #diagnostics() == 0 end)

  -- The lens of references puts the cursor at its name, also behind an emoji.
  local units = vim.str_utfindex(vim.fn.getline(line), column - 1)
  if client.offset_encoding == 'utf-8' then units = column - 1 end
  if client.offset_encoding == 'utf-16' then _, units = vim.str_utfindex(vim.fn.getline(line), column - 1) end
  vim.lsp.commands['tenon.showReferences']({ arguments = { vim.uri_from_bufnr(0), { line = line - 1, character = units } } },
    { client_id = id, bufnr = vim.fn.bufnr() })
  if vim.api.nvim_win_get_cursor(0)[2] ~= column - 1 then
    fail('the cursor is at ' .. vim.api.nvim_win_get_cursor(0)[2] .. ', expected ' .. column - 1)
  end

  -- The lens runs the saved text in a terminal of its own.
  local document = vim.fn.bufnr()
  vim.api.nvim_buf_set_lines(0, 0, 0, false, { '# changed' })
  vim.lsp.commands['tenon.run']({ arguments = { vim.uri_from_bufnr(document) } })
  local terminal = vim.fn.bufnr()
  wait('the output of the run', function()
    return table.concat(vim.api.nvim_buf_get_lines(terminal, 0, -1, false), '\n'):find('Process exited')
  end)
  if terminal == document or vim.fn.bufname(document) ~= file or vim.fn.readfile(file)[1] ~= '# changed' then
    fail('the lens has not run the saved document, or has changed its buffer')
  end
  vim.cmd('bwipeout!')

  -- A file that is not a document of Tenon.
  vim.cmd('silent edit! ' .. vim.env.OTHER)
  vim.wait(300)
  if #diagnostics() ~= 0 then fail('diagnostics of another file') end
  vim.lsp.stop_client(vim.lsp.get_active_clients())
  wait('the end of the server', function() return #vim.lsp.get_active_clients() == 0 end)
end

-- The settings for 0.11, with the functions that they use.
local function try_new()
  local config, enabled
  vim.lsp.config = function(name, options) config = { name = name, options = options } end
  vim.lsp.enable = function(name) enabled = name end
  vim.cmd('luafile ' .. vim.env.SETTINGS)
  local options = config.options
  if config.name ~= 'tenon' or enabled ~= 'tenon' or options.cmd[2] ~= 'lsp' or #options.filetypes == 0 or
      options.root_markers[1] ~= 'tenon.yaml' then
    fail('the settings for 0.11: ' .. vim.inspect(config))
  end
  if options.get_language_id(vim.fn.bufadd('/tmp/a.adl.yaml'), 'yaml') ~= 'adl' or
      options.get_language_id(vim.fn.bufadd('/tmp/a.yaml'), 'yaml') ~= 'yaml' then
    fail('the language of a file')
  end
end

for _, test in ipairs({ try, try_new }) do
  local ok, why = pcall(test)
  if not ok then fail(why) end
end
vim.cmd('quitall!')
