-- tenon.lua - Tenon's language server for Neovim 0.7 and later, without other plugins.
--
-- Copy it to ~/.config/nvim/plugin/tenon.lua. It starts `tenon lsp` for YAML and JSON files; nothing is reported about files that
-- are not documents of Tenon. Set vim.g.tenon_path before, if the program is not in PATH.

local command = { vim.g.tenon_path or 'tenon', 'lsp' }
local filetypes = { 'yaml', 'json', 'yaml.docker-compose' }
local root_files = { 'tenon.yaml', '.git' }
local init_options = { commands = { 'tenon.run', 'tenon.debug', 'tenon.showReferences' } } -- what code lenses can do here, see below

-- A name like this says what the file is; of others, the server looks at the text.
local function language_id(buffer, filetype)
  return vim.api.nvim_buf_get_name(buffer):match('%.adl%.%a+$') and 'adl' or filetype
end

local function run(lens, ...)
  local file = vim.uri_to_fname(lens.arguments[1])
  vim.cmd('silent update') -- `tenon run` reads the file
  vim.cmd('botright new')
  vim.fn.termopen({ command[1], 'run', file, ... }, { cwd = vim.fn.fnamemodify(file, ':h') })
end

vim.lsp.commands['tenon.run'] = function(lens) run(lens) end
vim.lsp.commands['tenon.debug'] = function(lens) run(lens, '--stream', 'tasks,updates,checkpoints,debug') end
vim.lsp.commands['tenon.showReferences'] = function(lens, context)
  local place = lens.arguments[2]
  local column = place.character -- in UTF-16 if Neovim or the server does not know bytes
  if vim.lsp.get_client_by_id(context.client_id).offset_encoding ~= 'utf-8' then
    column = vim.str_byteindex(vim.fn.getline(place.line + 1), column, true)
  end
  vim.api.nvim_win_set_cursor(0, { place.line + 1, column })
  vim.lsp.buf.references()
end

if vim.lsp.config then -- 0.11
  vim.lsp.config('tenon', { cmd = command, filetypes = filetypes, root_markers = root_files, get_language_id = language_id,
    init_options = init_options })
  vim.lsp.enable('tenon')
  return
end

local clients = {} -- by folder, for 0.7, which has no vim.lsp.start

local function root_of(file)
  local folder = vim.fn.fnamemodify(file, ':p:h')
  while true do
    for _, name in ipairs(root_files) do
      if vim.loop.fs_stat(folder .. '/' .. name) then return folder end
    end
    local parent = vim.fn.fnamemodify(folder, ':h')
    if parent == folder then return vim.fn.fnamemodify(file, ':p:h') end
    folder = parent
  end
end

local function attach(buffer)
  local file = vim.api.nvim_buf_get_name(buffer)
  if file == '' or vim.fn.executable(command[1]) == 0 then return end
  local options = { name = 'tenon', cmd = command, root_dir = root_of(file), get_language_id = language_id,
    init_options = init_options }
  if vim.lsp.start then
    vim.lsp.start(options, { bufnr = buffer })
    return
  end
  local root = options.root_dir
  if not clients[root] then
    options.on_exit = function() clients[root] = nil end
    clients[root] = vim.lsp.start_client(options)
  end
  if clients[root] then vim.lsp.buf_attach_client(buffer, clients[root]) end
end

vim.api.nvim_create_autocmd('FileType', {
  pattern = filetypes,
  callback = function(event) attach(event.buf) end,
})
