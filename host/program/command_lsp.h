/*
 * command_lsp.h - the part of `tenon lsp` that serves the editor from a host that runs.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_LSP_H
#define TENON_HOST_PROGRAM_COMMAND_LSP_H

struct arguments;

/* With --connect: copies bytes between the editor and that host. Returns the exit code. */
int command_lsp_sent(const struct arguments *arguments);

#endif
