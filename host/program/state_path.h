/*
 * state_path.h - where the program keeps files for its user: XDG_STATE_HOME/tenon, by default ~/.local/state/tenon.
 */
#ifndef TENON_HOST_PROGRAM_STATE_PATH_H
#define TENON_HOST_PROGRAM_STATE_PATH_H

/*
 * The path of `name` there; free it with mem_free. All folders on the path are created, readable for this user only. A
 * name that ends with '/' is a folder itself. NULL without XDG_STATE_HOME and HOME.
 */
char *state_path(const char *name);

#endif
