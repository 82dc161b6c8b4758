/*
 * files_test.c - the files that documents name: roots, links, kinds of files, and links that change meanwhile.
 */
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/base/file_open.h"
#include "host/base/files.h"
#include "host/base/folder.h"
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SWAPS 3000 /* reads while another thread replaces the file or its folder by a link */

static char folder[] = "/tmp/tenon-files-XXXXXX";
static struct files *files;

/* "/tmp/tenon-files-123456/NAME"; valid until the next call but one. */
static const char *at(const char *name) {
    static char paths[2][PATH_MAX];
    static int next;
    next = !next;
    snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

static void write_text(const char *name, const char *text) {
    FILE *file = fopen(at(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Reads `file` for a document called `name`. Returns its text, or the message; valid until the next call. */
static const char *read_for(const char *name, enum source_origin origin, const char *root, const char *file) {
    static char result[8192];
    struct source *source = source_new(name, "", 0);
    struct catalog_file found = {NULL, NULL};
    struct error error = ERROR_INIT;
    source_set_origin(source, origin, root);
    tn_value text = files_read(files, source, file, &found, &error);
    assert_true(!text == !found.path && !text == !found.root && !text == (error.code != NULL));
    snprintf(result, sizeof result, "%s", text ? value_chars(text, NULL) : error.message);
    value_unref(text);
    catalog_file_finish(&found);
    error_finish(&error);
    source_unref(source);
    return result;
}

static void expect(const char *from, const char *file, const char *expected) {
    const char *found = read_for(at(from), SOURCE_OF_OPERATOR, NULL, file);
    if (!strstr(found, expected)) fail_msg("%s in %s: found \"%s\", expected \"%s\"", file, from, found, expected);
}

static int make_folder(void **state) {
    (void)state;
    static const char *const folders[] = {"project",   "project/a", "project/a/b", "packs", "packs/p",
                                          "packs/p/1", "packs/p/2", "roots",       "secret"};
    if (!mkdtemp(folder)) return -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (mkdir(at(folders[i]), 0700) != 0) return -1;
    write_text("project/x", "project x");
    write_text("project/a/x", "project a/x");
    write_text("packs/p/1/x", "pack 1");
    write_text("packs/p/2/x", "pack 2");
    write_text("roots/x", "root x");
    write_text("secret/x", "secret");
    files = files_new(at("project"), at("packs"), NULL);
    files_add_root(files, at("roots"));
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    char command[PATH_MAX];
    files_free(files);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void names_are_relative_to_the_document(void **state) {
    (void)state;
    expect("project/d.yaml", "x", "project x");
    expect("project/a/d.yaml", "x", "project a/x");
    expect("project/a/d.yaml", "../x", "project x");
    expect("project/a/b/d.yaml", ".././../a/b/..//x", "project a/x");
    expect("project/a/d.yaml", at("project/x"), "project x");
    expect("project/a/d.yaml", "", "found a folder, expected a regular file");
    expect("gone/d.yaml", "x", "no such file");
}

static void roots_confine(void **state) {
    (void)state;
    char outside[PATH_MAX];
    snprintf(outside, sizeof outside, "it is outside %s/project, below which this document may read", folder);
    expect("project/d.yaml", "../secret/x", outside);
    expect("project/d.yaml", "../secret/gone", outside); /* does not depend on whether it exists */
    expect("project/d.yaml", "a/../../secret/x", outside);
    expect("project/d.yaml", "../project2/x", outside);
    expect("project/d.yaml", "..", outside);
    expect("project/d.yaml", "/", outside);
    expect("project/d.yaml", "../../../../../../../../etc/passwd", outside);
    expect("project/d.yaml", "../roots/x", "root x");
    expect("project/d.yaml", "../packs/p/1/x", "pack 1");
    expect("secret/d.yaml", "x", "secret"); /* a document outside the project has its own folder */
    expect("secret/d.yaml", "../project/x", "it is outside");
}

static void packs_read_only_themselves(void **state) {
    (void)state;
    expect("packs/p/1/d.yaml", "x", "pack 1");
    expect("packs/p/1/d.yaml", "../2/x", "outside the pack in");
    expect("packs/p/1/d.yaml", "../../../project/x", "outside the pack in");
    expect("packs/p/1/d.yaml", "../../../roots/x", "outside the pack in");
    const char *found = read_for(at("packs/p/1/d.yaml"), SOURCE_OF_DOCUMENT, at("packs/p/1"), "../2/x");
    assert_non_null(strstr(found, "outside the pack in"));
}

static void inner_documents_keep_their_root(void **state) {
    (void)state;
    assert_string_equal(read_for(at("project/a/d.yaml"), SOURCE_OF_DOCUMENT, at("project/a"), "x"), "project a/x");
    assert_non_null(strstr(read_for(at("project/a/d.yaml"), SOURCE_OF_DOCUMENT, at("project/a"), "../x"), "outside"));
    assert_string_equal(read_for(at("roots/d.yaml"), SOURCE_OF_DOCUMENT, at("roots"), "x"), "root x");
    assert_non_null(strstr(read_for(at("roots/d.yaml"), SOURCE_OF_DOCUMENT, at("roots"), "../project/x"), "outside"));
}

static void expect_of_input(const char *around, const char *root, const char *file, const char *expected) {
    const char *found = read_for(at(around), SOURCE_OF_INPUT, root, file);
    if (!strstr(found, expected)) fail_msg("%s in %s: found \"%s\", expected \"%s\"", file, around, found, expected);
}

static void inputs_name_files_of_the_project(void **state) {
    (void)state;
    expect_of_input("project/a/d.yaml", NULL, "x", "project x");
    expect_of_input("project/a/d.yaml", NULL, "a/x", "project a/x");
    expect_of_input("roots/d.yaml", NULL, "x", "project x"); /* it starts at the project, wherever the document is */
    expect_of_input("roots/d.yaml", NULL, at("roots/x"), "root x");
    expect_of_input("project/d.yaml", NULL, "../secret/x", "outside");
    expect_of_input("project/d.yaml", NULL, at("packs/p/1/x"), "pack 1");
    expect_of_input("project/a/d.yaml", at("project/a"), "x", "project x");
    /* A run of a document of a pack reads only in the pack, also if its input names the file. */
    expect_of_input("packs/p/1/d.yaml", NULL, "x", "pack 1");
    expect_of_input("packs/p/1/d.yaml", NULL, at("project/x"), "outside");
    expect_of_input("packs/p/1/d.yaml", at("packs/p/1"), "../2/x", "outside");
}

static void texts_have_only_the_added_roots(void **state) {
    (void)state;
    const char *name = at("project/d.yaml"); /* the name of a text means nothing */
    assert_string_equal(read_for(name, SOURCE_WITHOUT_FILE, NULL, "x"), "root x");
    assert_string_equal(read_for(name, SOURCE_WITHOUT_FILE, NULL, at("roots/x")), "root x");
    name = at("project/d.yaml");
    assert_non_null(strstr(read_for(name, SOURCE_WITHOUT_FILE, NULL, at("project/x")), "outside the folders in"));
    assert_non_null(strstr(read_for("d.yaml", SOURCE_WITHOUT_FILE, NULL, at("packs/p/1/x")), "outside the folders"));
    assert_non_null(strstr(read_for("d.yaml", SOURCE_WITHOUT_FILE, NULL, "../secret/x"), "outside the folders in"));
    assert_null(strstr(read_for("d.yaml", SOURCE_WITHOUT_FILE, NULL, "../secret/x"), folder)); /* no path of the host */
    struct files *all = files;
    files = files_new(at("project"), at("packs"), NULL);
    assert_non_null(strstr(read_for(at("project/d.yaml"), SOURCE_WITHOUT_FILE, NULL, "x"), "reads no files unless"));
    assert_non_null(strstr(read_for("", SOURCE_WITHOUT_FILE, NULL, "/etc/passwd"), "reads no files unless"));
    files_free(files);
    files = all;
}

static void links_are_followed_only_inside(void **state) {
    (void)state;
    assert_int_equal(symlink("a/x", at("project/inside")), 0);
    assert_int_equal(symlink(at("project/a"), at("project/absolute")), 0);
    assert_int_equal(symlink("../secret/x", at("project/out")), 0);
    assert_int_equal(symlink(at("secret"), at("project/folder")), 0);
    assert_int_equal(symlink("out", at("project/twice")), 0);
    assert_int_equal(symlink("../roots/x", at("project/root")), 0);
    assert_int_equal(symlink("/proc/self/root", at("project/magic")), 0);
    assert_int_equal(symlink("project", at("linked")), 0);
    expect("project/d.yaml", "inside", "project a/x");
    expect("project/d.yaml", "absolute/x", "project a/x");
    expect("project/d.yaml", "root", "root x");
    expect("linked/d.yaml", "a/x", "project a/x");
    expect("project/d.yaml", "out", "it is a link to a place outside");
    expect("project/d.yaml", "folder/x", "it is a link to a place outside");
    expect("project/d.yaml", "twice", "it is a link to a place outside");
    expect("project/d.yaml", "magic/etc/passwd", "it is a link to a place outside");
    expect("project/d.yaml", "inside/..", "no such file"); /* resolved as the kernel does */
}

/* Through a link to a place outside, a document must not find out what is there. */
static void links_do_not_reveal_what_exists(void **state) {
    (void)state;
    char outside[PATH_MAX + 128];
    static const char *const names[] = {"out2/x", "out2/gone", "out2/x/part", "out2/gone/part", "out2/sub/../x",
                                        "gone2",  "out2/loop", "out2/./gone", "out2/../x"};
    assert_int_equal(symlink(at("secret"), at("project/out2")), 0);
    assert_int_equal(symlink(at("secret/gone"), at("project/gone2")), 0);
    assert_int_equal(symlink("loop", at("secret/loop")), 0);
    snprintf(outside, sizeof outside, "it is a link to a place outside %s/project", folder);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *found = read_for(at("project/d.yaml"), SOURCE_OF_OPERATOR, NULL, names[i]);
        if (strncmp(found, outside, strlen(outside)) != 0)
            fail_msg("%s: found \"%s\", expected \"%s\"", names[i], found, outside);
    }
    expect("project/d.yaml", "a/gone", "no such file");
    expect("project/d.yaml", "a/x/part", "no such file");
}

/* A document from a pipe or from standard input is in no folder: it counts as a file of the working directory. */
static void streams_are_in_the_working_directory(void **state) {
    (void)state;
    char here[PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(at("project/a")), 0);
    static const char *const names[] = {"<stdin>", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_string_equal(read_for(names[i], SOURCE_OF_OPERATOR, NULL, "x"), "project a/x");
        assert_string_equal(read_for(names[i], SOURCE_OF_OPERATOR, NULL, "../x"), "project x");
        assert_non_null(strstr(read_for(names[i], SOURCE_OF_OPERATOR, NULL, "/dev/null"), "it is outside"));
        assert_non_null(strstr(read_for(names[i], SOURCE_OF_OPERATOR, NULL, "/proc/self/maps"), "it is outside"));
    }
    assert_int_equal(chdir(here), 0);
}

static void only_regular_files_are_read(void **state) {
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", at("project/socket"));
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(mkfifo(at("project/pipe"), 0600), 0);
    expect("project/d.yaml", "socket", "found a socket, expected a regular file");
    expect("project/d.yaml", "pipe", "found a named pipe, expected a regular file");
    expect("project/d.yaml", "a", "found a folder, expected a regular file");
    close(listener);
    assert_non_null(strstr(read_for("/dev/d.yaml", SOURCE_OF_DOCUMENT, "/dev", "/dev/zero"), "found a device"));
    assert_non_null(strstr(read_for("/dev/d.yaml", SOURCE_OF_DOCUMENT, "/dev", "/dev/tty"), "found a device"));
    struct catalog_file found = {NULL, NULL};
    struct error error = ERROR_INIT;
    assert_null(files_read(files, NULL, at("project/pipe"), &found, &error)); /* also if the operator names it */
    assert_non_null(strstr(error.message, "found a named pipe"));
    error_finish(&error);
}

static void sizes_are_bounded(void **state) {
    (void)state;
    write_text("project/large", "");
    assert_int_equal(truncate(at("project/large"), FILES_LENGTH_MAX + 1), 0);
    expect("project/d.yaml", "large", "it is longer than 16 MiB");
    assert_int_equal(truncate(at("project/large"), FILES_LENGTH_MAX), 0);
    expect("project/d.yaml", "large", ""); /* zeros are UTF-8 */
    assert_int_equal(unlink(at("project/large")), 0);
    char *name = mem_zalloc(8001);
    memset(name, 'a', 8000);
    expect("project/d.yaml", name, "File name too long");
    memset(name, '/', 8000);
    expect("project/d.yaml", name, "outside");
    for (size_t i = 0; i + 2 < 8000; i += 3) memcpy(name + i, "../", 3);
    expect("project/d.yaml", name, "outside");
    mem_free(name);
}

static void the_operator_names_any_file(void **state) {
    (void)state;
    struct catalog_file found = {NULL, NULL};
    struct error error = ERROR_INIT;
    static const struct {
        const char *file, *root;
    } cases[] = {{"project/a/x", "project"}, {"secret/x", "secret"}, {"packs/p/1/x", "packs/p/1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_value text = files_read(files, NULL, at(cases[i].file), &found, &error);
        assert_non_null(text);
        assert_string_equal(found.path, at(cases[i].file));
        assert_string_equal(found.root, at(cases[i].root));
        value_unref(text);
        catalog_file_finish(&found);
    }
}

static void the_opening_follows_no_link(void **state) {
    (void)state;
    static const char *const links[] = {"inside", "absolute/x", "out", "folder/x"};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        struct error error = ERROR_INIT;
        assert_int_equal(file_open_below(at("project"), links[i], &error), -1);
        assert_non_null(error.message);
        error_finish(&error);
    }
}

static void files_are_opened_without_proc(void **state) {
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct error error = ERROR_INIT;
        if (chroot(folder) != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot(folder) != 0)) _exit(77);
        if (chdir("/") != 0 || access("/proc", F_OK) == 0) _exit(1);
        _exit(file_open_below("/project", "a/x", &error) < 0 || file_open_below("/project", "a/gone", &error) >= 0 ||
              file_open_below("/project", "pipe", &error) >= 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) skip(); /* the root folder cannot be changed here */
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- Files that change while they are read ---- */

struct swapper {
    const char *name, *target; /* the name alternates between what it was and a link to `target`, or a named pipe */
    atomic_bool stop;
};

static void *swap_repeatedly(void *argument) {
    struct swapper *swapper = argument;
    char name[PATH_MAX], link[PATH_MAX + 8], kept[PATH_MAX + 8];
    snprintf(name, sizeof name, "%s/%s", folder, swapper->name);
    snprintf(link, sizeof link, "%s.link", name);
    snprintf(kept, sizeof kept, "%s.kept", name);
    while (!atomic_load(&swapper->stop)) {
        if ((swapper->target ? symlink(swapper->target, link) : mkfifo(link, 0600)) != 0 || rename(name, kept) != 0 ||
            rename(link, name) != 0 || unlink(name) != 0 || rename(kept, name) != 0)
            return swapper;
    }
    return NULL;
}

static void race(const char *name, const char *target, const char *file, const char *expected) {
    struct swapper swapper = {name, target, false};
    pthread_t thread;
    void *failed;
    char document[PATH_MAX];
    snprintf(document, sizeof document, "%s/project/d.yaml", folder);
    assert_int_equal(pthread_create(&thread, NULL, swap_repeatedly, &swapper), 0);
    for (int i = 0; i < SWAPS; i++) {
        const char *found = read_for(document, SOURCE_OF_OPERATOR, NULL, file);
        if (strcmp(found, "secret") == 0) fail_msg("read %s through a link that was created meanwhile", file);
        if (strcmp(found, expected) == 0) continue;
        assert_true(strstr(found, "no such file") || strstr(found, "outside") || strstr(found, "link") ||
                    (!target && strstr(found, "found a named pipe, expected a regular file")));
    }
    atomic_store(&swapper.stop, true);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    assert_string_equal(read_for(document, SOURCE_OF_OPERATOR, NULL, file), expected);
}

static void a_link_made_meanwhile_leads_nowhere(void **state) {
    (void)state;
    race("project/a/x", "../../secret/x", "a/x", "project a/x");
    race("project/a", "../secret", "a/x", "project a/x");
}

static void a_pipe_made_meanwhile_does_not_block(void **state) {
    (void)state;
    race("project/a/x", NULL, "a/x", "project a/x");
}

static void folders_are_created(void **state) {
    (void)state;
    struct error error = ERROR_INIT;
    struct stat status;
    static const char *const names[] = {"new", "new/one//two/", "new/one"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(folder_create(at(names[i]), &error), TN_OK);
        assert_true(stat(at(names[i]), &status) == 0 && S_ISDIR(status.st_mode));
    }
    assert_int_equal(folder_create(".", &error), TN_OK);
    assert_int_equal(folder_create("/", &error), TN_OK);
    write_text("new/file", "");
    assert_int_equal(folder_create(at("new/file/three/four"), &error), TN_ERROR);
    assert_string_equal(error.code, "IO");
    assert_non_null(strstr(error.message, "new/file/three: Not a directory"));
    error_finish(&error);
}

/* ---- Lists ---- */

struct listed {
    bool x, a; /* project/x, a file, and project/a, a folder */
    int count;
};

static void note_entry(void *user, const char *name, bool is_folder) {
    struct listed *listed = user;
    listed->count++;
    listed->x = listed->x || (strcmp(name, "x") == 0 && !is_folder);
    listed->a = listed->a || (strcmp(name, "a") == 0 && is_folder);
    assert_true(name[0] != '.');
}

static struct listed list_for(const char *document, enum source_origin origin, const char *named) {
    struct source *source = source_new(at(document), "", 0);
    struct listed listed = {0};
    source_set_origin(source, origin, origin == SOURCE_OF_DOCUMENT ? at("project") : NULL);
    files_list(files, source, named, note_entry, &listed);
    source_unref(source);
    return listed;
}

static void folders_are_listed_below_the_roots(void **state) {
    (void)state;
    struct listed here = list_for("project/d.yaml", SOURCE_OF_OPERATOR, "");
    assert_true(here.x && here.a);
    assert_true(list_for("project/a/d.yaml", SOURCE_OF_OPERATOR, "..").x);
    assert_true(list_for("project/d.yaml", SOURCE_OF_DOCUMENT, "a/").x);
    assert_int_equal(list_for("project/d.yaml", SOURCE_OF_OPERATOR, "../secret").count, 0);
    assert_int_equal(list_for("project/d.yaml", SOURCE_OF_OPERATOR, "/").count, 0);
    assert_int_equal(list_for("project/d.yaml", SOURCE_OF_OPERATOR, "x").count, 0);
    assert_int_equal(list_for("project/d.yaml", SOURCE_OF_OPERATOR, "pack:p/").count, 0);
    assert_int_equal(list_for("project/d.yaml", SOURCE_WITHOUT_FILE, "").count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_relative_to_the_document),
        cmocka_unit_test(roots_confine),
        cmocka_unit_test(packs_read_only_themselves),
        cmocka_unit_test(inputs_name_files_of_the_project),
        cmocka_unit_test(inner_documents_keep_their_root),
        cmocka_unit_test(texts_have_only_the_added_roots),
        cmocka_unit_test(links_are_followed_only_inside),
        cmocka_unit_test(links_do_not_reveal_what_exists),
        cmocka_unit_test(streams_are_in_the_working_directory),
        cmocka_unit_test(only_regular_files_are_read),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(the_operator_names_any_file),
        cmocka_unit_test(the_opening_follows_no_link),
        cmocka_unit_test(files_are_opened_without_proc),
        cmocka_unit_test(a_link_made_meanwhile_leads_nowhere),
        cmocka_unit_test(a_pipe_made_meanwhile_does_not_block),
        cmocka_unit_test(folders_are_created),
        cmocka_unit_test(folders_are_listed_below_the_roots),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
