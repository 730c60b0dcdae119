-- nvim --clean -u init.lua ; SERVER is the language server's command line, URL the address of its server
vim.lsp.config('codeserve', {
  cmd = vim.json.decode(vim.env.SERVER),
  filetypes = { 'python' },
  root_markers = { '.git' },
  init_options = { serverUrl = vim.env.URL },
  handlers = {
    ['codeserve/status'] = function(_, params) vim.g.codeserve_state = params.state end,
  },
})
-- the tests type their own indentation
vim.cmd('filetype indent off')
vim.lsp.enable('codeserve')
vim.lsp.inline_completion.enable()
vim.keymap.set('i', '<Tab>', function()
  if not vim.lsp.inline_completion.get() then return '<Tab>' end
end, { expr = true })
