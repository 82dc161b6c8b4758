/*
 * thread_pack_test.c - a large value is hashed once per super-step, however often it is packed; and what is known about
 * packed values is bounded and never used for another value. A large checkpoint is packed on the store's thread.
 *
 * json_hash is wrapped by the linker (tests/CMakeLists.txt), so that the calls of thread_pack.c are counted.
 */
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_nodes.h"
#include "host/data/thread/thread_pack.h"
#include "tests/unit/thread_fixture.h"
#include <pthread.h>
#include <stdatomic.h>

#define TEXT   (PACK_CHUNK_MAX + 1000) /* bytes: a record with it is packed */
#define PIECES 2

static atomic_uint hashes, hashes_of_loop;
static pthread_t test_thread;

void __real_json_hash(tn_value value, enum json_style style, char out[TN_SHA256_TEXT]);
void __wrap_json_hash(tn_value value, enum json_style style, char out[TN_SHA256_TEXT]);

void __wrap_json_hash(tn_value value, enum json_style style, char out[TN_SHA256_TEXT]) {
    hashes++;
    if (pthread_equal(pthread_self(), test_thread)) hashes_of_loop++;
    __real_json_hash(value, style, out);
}

/* A text whose pieces differ from those of another `first`. */
static tn_value large_text(char first) {
    char *text = mem_alloc(TEXT);
    memset(text, first, TEXT);
    tn_value made = value_text_n(text, TEXT);
    mem_free(text);
    return made;
}

static tn_value message(tn_value text) {
    return value_set_take(value_set_take(value_object(), "role", value_text("user")), "content", text);
}

static tn_value checkpoint_of(uint32_t step, const char *member, tn_value value) {
    tn_value checkpoint = value_set_take(value_object(), "step", value_int(step));
    return value_set_take(value_set_take(checkpoint, "plan", value_array()), member, value);
}

/* A checkpoint of an input: it has the text twice, and once more in the snapshot that follows. */
static void commit_input(struct host *host, struct thread_log *log, uint32_t seq, tn_value state, tn_value input) {
    struct done done = {false, 0, ""};
    tn_value name = value_text("messages"), delta = value_object();
    delta = delta_channel_take(delta, name, NULL, value_get(state, "messages"), false);
    tn_value checkpoint = checkpoint_of(seq, "input", value_ref(input));
    struct thread_commit what = {.scope = THREAD_ROOT,
                                 .seq = seq,
                                 .checkpoint = value_set_take(checkpoint, "delta", delta),
                                 .record = value_set_take(value_object(), "head", value_int(seq)),
                                 .step_ended = true,
                                 .state = state_of,
                                 .user = (void *)(uintptr_t)state};
    thread_log_commit(log, what, on_done, &done);
    loop_run(host_loop(host), is_done, &done);
    assert_int_equal(done.status, TN_OK);
    value_unref(name);
}

static void test_hashed_once(void **state) {
    (void)state;
    struct host *host = open_host();
    tn_value loaded = load(host, "t", THREAD_HEAD);
    struct thread_log *log = thread_log_new(host_store(host, NULL), "t", loaded);
    value_unref(loaded);
    for (uint32_t seq = 0; seq < 2; seq++) {
        tn_value text = large_text((char)('a' + seq));
        tn_value input = value_set_take(value_object(), "question", value_ref(text));
        tn_value now = value_set_take(value_object(), "messages", value_push_take(value_array(), message(text)));
        hashes = hashes_of_loop = 0;
        thread_log_activation_take(log, THREAD_ROOT, seq, 0, value_set_take(value_object(), "done", value_ref(text)));
        assert_int_equal(hashes, PIECES);
        commit_input(host, log, seq, now, input);
        assert_int_equal(hashes, PIECES);
        loaded = load(host, "t", seq);
        assert_true(value_equal(value_get(value_get(loaded, "saved"), "state"), now));
        value_unref(loaded);
        value_unref(input);
        value_unref(now);
    }
    thread_log_free(log);
    host_free(host);
}

static int32_t count_record(void *user, const char *key, tn_value value, struct error *error) {
    (void)key, (void)value, (void)error;
    ++*(unsigned *)user;
    return TN_OK;
}

static int32_t count_journal(struct session *session, void *user, tn_value *result, struct error *error) {
    (void)result;
    return session_each(session, STORE_JOURNAL, NULL, NULL, count_record, user, error);
}

/* Two nested runs commit at the same time, and notes are made while both are packed. */
static void test_not_on_the_loop(void **state) {
    static const char *const scopes[] = {"00000000000000aa", "00000000000000bb"};
    (void)state;
    struct host *host = open_host();
    tn_value loaded = load(host, "t", THREAD_HEAD), texts[3],
             nothing = value_set_take(value_object(), "n", value_int(1));
    struct thread_log *log = thread_log_new(host_store(host, NULL), "t", loaded);
    struct done done[2] = {{false, 0, ""}, {false, 0, ""}};
    unsigned journal = 0;
    value_unref(loaded);
    for (int i = 0; i < 3; i++) texts[i] = large_text((char)('a' + i));
    hashes = hashes_of_loop = 0;
    assert_int_equal(commit(host, log, 0, NULL, nothing).status, TN_OK);
    assert_int_equal(hashes, 0);
    for (int i = 0; i < 2; i++) {
        struct thread_commit input = {.scope = scopes[i], .fresh = true};
        input.checkpoint = checkpoint_of(0, "input", value_ref(texts[i]));
        input.checkpoint = value_set_take(input.checkpoint, "delta", value_object());
        thread_log_commit(log, input, on_done, &done[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        tn_value entry = value_set_take(value_object(), "output", value_ref(texts[2]));
        thread_log_call_take(log, THREAD_ROOT, 1, i, 0, "0", entry);
    }
    assert_int_equal(hashes_of_loop, PIECES); /* of the notes */
    for (int i = 0; i < 2; i++) {
        loop_run(host_loop(host), is_done, &done[i]);
        assert_int_equal(done[i].status, TN_OK);
    }
    assert_int_equal(hashes_of_loop, PIECES);
    assert_int_equal(hashes, 3 * PIECES);
    loaded = load(host, "t", THREAD_HEAD);
    assert_int_equal(value_count(value_get(loaded, "nested")), 2);
    assert_int_equal(store_perform_wait(host_store(host, NULL), count_journal, &journal, NULL, NULL), TN_OK);
    assert_int_equal(journal, 2);
    value_unref(loaded);
    /* The next commit of the outermost run has them all. */
    tn_value list = value_array(), after = value_object();
    for (int i = 0; i < 3; i++) list = value_push_take(list, value_ref(texts[i]));
    after = value_set_take(after, "n", list);
    hashes_of_loop = 0;
    assert_int_equal(commit(host, log, 1, nothing, after).status, TN_OK);
    assert_int_equal(hashes_of_loop, 0);
    loaded = load(host, "t", THREAD_HEAD);
    assert_true(value_equal(value_get(value_get(loaded, "saved"), "state"), after));
    value_unref(loaded);
    thread_log_free(log);
    for (int i = 0; i < 3; i++) value_unref(texts[i]);
    value_unref(nothing);
    value_unref(after);
    host_free(host);
}

static tn_value pack(struct thread_packer *packer, tn_value value) { return thread_pack(packer, value, NULL, NULL); }

/* Chunks that may have been removed are written again. */
static void test_unknown_chunks(void **state) {
    (void)state;
    struct thread_nodes nodes = {0};
    struct thread_packer packer = {.key = "k", .chunk = PACK_CHUNK_MAX, .puts = value_array(), .nodes = &nodes};
    tn_value text = large_text('a'), list = value_push_take(value_array(), message(value_ref(text)));
    tn_value first = pack(&packer, list), again = pack(&packer, list);
    assert_ptr_equal(first, again);
    assert_int_equal(value_count(packer.puts), PIECES);
    value_unref(again);
    thread_packer_finish(&packer);
    packer.puts = value_array();
    hashes = 0;
    again = pack(&packer, list);
    assert_int_equal(hashes, PIECES);
    assert_int_equal(value_count(packer.puts), PIECES);
    assert_true(value_equal(first, again));
    value_unref(first);
    value_unref(again);
    value_unref(list);
    value_unref(text);
    thread_packer_finish(&packer);
    thread_nodes_clear(&nodes);
}

/* A list that is packed with chunks of another size, or deeper in its record, has another node. */
static void test_same_conditions(void **state) {
    (void)state;
    struct thread_nodes nodes = {0};
    tn_value list = value_push_take(value_array(), value_int(1)), node = value_text("node");
    assert_null(thread_nodes_find(&nodes, list, 10, 0));
    thread_nodes_add(&nodes, list, 10, 3, node, 100);
    assert_ptr_equal(thread_nodes_find(&nodes, list, 10, 3), node);
    assert_ptr_equal(thread_nodes_find(&nodes, list, 10, 0), node);
    assert_null(thread_nodes_find(&nodes, list, 10, 4));
    assert_null(thread_nodes_find(&nodes, list, 20, 3));
    assert_null(thread_nodes_find(&nodes, node, 10, 3));
    thread_nodes_add(&nodes, list, 20, 3, node, 100);
    assert_ptr_equal(thread_nodes_find(&nodes, list, 20, 3), node);
    assert_int_equal(nodes.count, 1);
    assert_int_equal(nodes.bytes, 100);
    thread_nodes_clear(&nodes);
    assert_null(thread_nodes_find(&nodes, list, 20, 3));
    value_unref(list);
    value_unref(node);
}

static void test_bounds(void **state) {
    (void)state;
    struct thread_nodes nodes = {0};
    tn_value values = value_array(), node = value_text("node");
    for (int i = 0; i <= THREAD_NODES_MAX; i++) values = value_push_take(values, value_format("value %d", i));
    for (size_t i = 0; i < THREAD_NODES_MAX; i++) thread_nodes_add(&nodes, value_at(values, i), 0, 0, node, 1);
    for (size_t i = 0; i < THREAD_NODES_MAX; i++)
        assert_ptr_equal(thread_nodes_find(&nodes, value_at(values, i), 0, 0), node);
    tn_value first = value_at(values, 0), last = value_at(values, THREAD_NODES_MAX);
    thread_nodes_add(&nodes, last, 0, 0, node, 1);
    assert_int_equal(nodes.count, 1);
    assert_null(thread_nodes_find(&nodes, first, 0, 0));
    thread_nodes_add(&nodes, first, 0, 0, node, THREAD_NODES_BYTES_MAX + 1);
    assert_null(thread_nodes_find(&nodes, first, 0, 0));
    assert_ptr_equal(thread_nodes_find(&nodes, last, 0, 0), node);
    thread_nodes_add(&nodes, first, 0, 0, node, THREAD_NODES_BYTES_MAX);
    assert_int_equal(nodes.bytes, THREAD_NODES_BYTES_MAX);
    assert_null(thread_nodes_find(&nodes, last, 0, 0));
    thread_nodes_clear(&nodes);
    assert_int_equal(nodes.bytes, 0);
    value_unref(values);
    value_unref(node);
}

int main(void) {
    test_thread = pthread_self();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hashed_once),    cmocka_unit_test(test_not_on_the_loop),
        cmocka_unit_test(test_unknown_chunks), cmocka_unit_test(test_same_conditions),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
