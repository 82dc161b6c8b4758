/*
 * command_options.h - the tables of options that the rows of command_table.c name, in the order of the help.
 *
 * Each table ends with an option whose name is NULL. Only command_table.c includes this file; the others read the
 * options of a row.
 *
 *     {"doctor", "", "show this installation, …", …, .options = json_options, .run = command_doctor},
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_OPTIONS_H
#define TENON_HOST_PROGRAM_COMMAND_OPTIONS_H

#include "host/program/command.h"

extern const struct command_option plugin_install_options[];
extern const struct command_option json_options[];
extern const struct command_option connect_options[];
extern const struct command_option plugin_unload_options[];
extern const struct command_option connect_json_options[];
extern const struct command_option lsp_options[];
extern const struct command_option serve_options[];
extern const struct command_option acp_options[];
extern const struct command_option run_options[];
extern const struct command_option chat_options[];
extern const struct command_option replay_options[];
extern const struct command_option test_options[];
extern const struct command_option evaluate_options[];
extern const struct command_option thread_list_options[];
extern const struct command_option thread_history_options[];
extern const struct command_option thread_at_options[];
extern const struct command_option thread_update_options[];
extern const struct command_option thread_delete_options[];
extern const struct command_option thread_import_options[];
extern const struct command_option thread_gc_options[];
extern const struct command_option check_options[];
extern const struct command_option graph_options[];
extern const struct command_option fmt_options[];
extern const struct command_option eval_options[];
extern const struct command_option key_create_options[];
extern const struct command_option schedule_list_options[], schedule_run_options[], task_create_options[];
extern const struct command_option task_list_options[];
extern const struct command_option task_update_options[];
extern const struct command_option task_claim_options[];
extern const struct command_option task_renew_options[];
extern const struct command_option task_complete_options[];
extern const struct command_option task_fail_options[];
extern const struct command_option task_release_options[];
extern const struct command_option task_watch_options[];
extern const struct command_option ask_options[];
extern const struct command_option work_options[];
extern const struct command_option artifact_write_options[];
extern const struct command_option artifact_read_options[];
extern const struct command_option artifact_list_options[];
extern const struct command_option memory_put_options[];
extern const struct command_option memory_search_options[];
extern const struct command_option model_embed_options[];
extern const struct command_option model_test_options[];
extern const struct command_option tool_call_options[];
extern const struct command_option plugin_show_options[];
extern const struct command_option plugin_new_options[];
extern const struct command_option plugin_check_options[];
extern const struct command_option plugin_serve_options[];
extern const struct command_option plugin_launch_options[];
extern const struct command_option pack_build_options[];
extern const struct command_option pack_sign_options[];
extern const struct command_option pack_push_options[];
extern const struct command_option pack_pull_options[];
extern const struct command_option pack_verify_options[];
extern const struct command_option pack_install_options[];
extern const struct command_option reference_options[];
extern const struct command_option store_copy_options[];

#endif
