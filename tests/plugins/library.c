/* library.c - not a plugin: a library in the folder of plugins. */
int library_answer(void);
__attribute__((visibility("default"))) int library_answer(void) { return 42; }
