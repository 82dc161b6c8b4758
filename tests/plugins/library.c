/* library.c - no plugin: a library that lies beside plugins. */
int library_answer(void);
__attribute__((visibility("default"))) int library_answer(void) { return 42; }
