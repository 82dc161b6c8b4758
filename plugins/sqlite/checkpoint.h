/*
 * checkpoint.h - writes SQLite's log (the WAL) into the file, on another thread and with another connection.
 *
 * Without this, the commit that makes the log longer than 1,000 pages also copies them into the file, and waits for the
 * disk twice. Here a commit only notes how long the log is. A pass that copies while the store keeps writing cannot
 * reach the end of the log, and SQLite restarts the log only when all of it is copied. So the last pass, over the few
 * pages that are left, closes a gate: the store's next transaction waits for it. A reader or writer of another process
 * can prevent it; then the next pass tries again.
 *
 * Passes of one process never start unless something was committed after all was copied. In releases of SQLite before
 * 3.51.3, a pass that starts while another connection restarts the log can lose data ("WAL-reset bug"); in a process
 * with this rule, that cannot happen.
 *
 *     store->checkpointer = checkpoint_start(store);              // NULL: SQLite does it, as always
 *     checkpoint_transaction_begins(store->checkpointer);         // before BEGIN; waits while the gate is closed
 *     checkpoint_transaction_ended(store->checkpointer);          // after COMMIT or ROLLBACK
 *     checkpoint_stop(store->checkpointer);                       // before the store's connection is closed
 *
 * All functions accept NULL. Thread: the store's.
 */
#ifndef TENON_PLUGINS_SQLITE_CHECKPOINT_H
#define TENON_PLUGINS_SQLITE_CHECKPOINT_H

#include "database.h"

/* In pages of the log. */
#define CHECKPOINT_PAGES     1000 /* not yet in the file: a pass starts */
#define CHECKPOINT_PAGES_MAX 4000 /* in all: the store waits for a pass that runs, so that the log stays short */
#define CHECKPOINT_LAST      64   /* left: the last pass copies them, if passes are faster than the store */

/* NULL if memory runs out. The thread starts when the log is long for the first time. */
struct checkpointer *checkpoint_start(tn_store *store);
/* Waits for the pass that is running. */
void checkpoint_stop(struct checkpointer *checkpointer);
void checkpoint_transaction_begins(struct checkpointer *checkpointer);
void checkpoint_transaction_ended(struct checkpointer *checkpointer);
/* Waits for the pass that is running, and lets none start until checkpoint_resume: the caller copies the log. */
void checkpoint_pause(struct checkpointer *checkpointer);
void checkpoint_resume(struct checkpointer *checkpointer);

#endif
