/*
 * shared_test.c - the memory in which a host and a plugin's process write large texts: packing, unpacking, a reader or
 * a writer that lies, and the messages about it, with Python scripts as children.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/shared.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static tn_value json(const char *text) {
    tn_value value = NULL;
    assert_int_equal(json_read(text, strlen(text), NULL, &value, NULL), TN_OK);
    return value;
}

static tn_value text_of(char c, size_t length) {
    char *chars = mem_alloc(length + 1);
    memset(chars, c, length);
    tn_value text = value_string(chars, length);
    mem_free(chars);
    return text;
}

/* {"jsonrpc", "method", "params": [1, {"a": text, "b": "small", "c": bytes}, text]} */
static tn_value message_of(tn_value text, tn_value bytes) {
    tn_value inner = value_set_take(value_object(), "a", value_ref(text));
    inner = value_set_take(inner, "b", value_text("small"));
    inner = value_set_take(inner, "c", value_ref(bytes));
    tn_value params = value_push_take(value_push_take(value_array(), value_int(1)), inner);
    tn_value message = value_set_take(value_object(), "jsonrpc", value_text("2.0"));
    message = value_set_take(message, "method", value_text("note"));
    return value_set_take(message, "params", value_push_take(params, value_ref(text)));
}

/* As it arrives at the other end. */
static tn_value sent(tn_value message) {
    char *text = json_text(message, JSON_COMPACT);
    tn_value read = json(text);
    mem_free(text);
    return read;
}

static void packs_and_unpacks(void **state) {
    (void)state;
    struct shared_memory *memory = shared_new(), *other = shared_adopt_take(dup(shared_descriptor(memory)));
    assert_non_null(other);
    tn_value text = text_of('x', SHARED_VALUE_MIN), longer = text_of('y', SHARED_VALUE_MIN + 7);
    tn_value bytes = value_bytes(value_chars(longer, NULL), SHARED_VALUE_MIN + 7);
    for (int round = 0; round < 10000; round++) { /* several times around the memory */
        tn_value whole = message_of(text, bytes);
        struct shared_mark mark;
        uint64_t position;
        size_t count;
        assert_true(shared_is_worthwhile(whole));
        tn_value packed = shared_pack_take(memory, value_ref(whole), &mark);
        assert_ptr_not_equal(packed, whole);
        assert_int_equal(mark.bytes, 3 * SHARED_VALUE_MIN + 7);
        tn_value read = sent(packed);
        assert_false(shared_is_worthwhile(read));
        assert_int_equal(shared_unpack(other, &read, &position, &count, NULL), TN_OK);
        assert_int_equal(count, mark.bytes);
        assert_true(value_equal(read, whole));
        if (round % 7 == 6) assert_true(shared_release(memory, position)); /* the reader may be late */
        value_unref(read);
        value_unref(packed);
        value_unref(whole);
    }
    value_unref(text);
    value_unref(longer);
    value_unref(bytes);
    shared_free(memory);
    shared_free(other);
}

static void leaves_small_texts_in_the_message(void **state) {
    (void)state;
    struct shared_memory *memory = shared_new();
    struct shared_mark mark;
    tn_value text = text_of('x', SHARED_VALUE_MIN - 1), whole = message_of(text, text);
    assert_false(shared_is_worthwhile(whole));
    assert_ptr_equal(shared_pack_take(memory, whole, &mark), whole);
    assert_int_equal(mark.bytes, 0);
    value_unref(whole);
    value_unref(text);
    shared_free(memory);
}

/* A reader that releases nothing gets the texts in the messages; so does one after a failed write. */
static void continues_without_space(void **state) {
    (void)state;
    struct shared_memory *memory = shared_new();
    struct shared_mark mark;
    tn_value half = text_of('x', SHARED_SIZE / 2), message = value_set_take(value_object(), "a", half), packed;
    for (int i = 0; i < 2; i++) {
        packed = shared_pack_take(memory, value_ref(message), &mark);
        assert_int_equal(mark.bytes, SHARED_SIZE / 2);
        value_unref(packed);
    }
    packed = shared_pack_take(memory, value_ref(message), &mark);
    assert_ptr_equal(packed, message);
    value_unref(packed);
    assert_false(shared_release(memory, SHARED_SIZE + 1));
    assert_true(shared_release(memory, SHARED_SIZE / 2));
    assert_false(shared_release(memory, SHARED_SIZE / 2 - 1));
    packed = shared_pack_take(memory, value_ref(message), &mark);
    assert_int_equal(mark.bytes, SHARED_SIZE / 2);
    value_unref(packed);
    /* What was not sent is free again. */
    shared_undo(memory, &mark);
    packed = shared_pack_take(memory, value_ref(message), &mark);
    assert_int_equal(mark.bytes, SHARED_SIZE / 2);
    shared_undo(memory, &mark);
    assert_true(shared_release(memory, SHARED_SIZE));
    value_unref(packed);
    packed = shared_pack_take(memory, value_ref(message), &mark);
    shared_undo(memory, &mark);
    packed = (value_unref(packed), shared_pack_take(memory, value_ref(message), &mark));
    assert_int_equal(mark.bytes, SHARED_SIZE / 2);
    assert_int_equal(value_to_int(value_get(value_at(value_get(value_get(packed, "shared"), "values"), 0), "from")), 0);
    value_unref(packed);
    value_unref(message);
    shared_free(memory);
}

static void message_that_is_too_long(void **state) {
    (void)state;
    struct shared_memory *memory = shared_new();
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    /* Each fits, the message does not: the second text is not shared, because of the space. */
    tn_value half = text_of('x', SHARED_SIZE / 2), message = value_push_take(value_array(), value_ref(half));
    message = value_set_take(value_object(), "a", value_push_take(value_push_take(message, half), value_text("x")));
    tn_value left = value_ref(message);
    assert_int_equal(shared_frame_write_take(memory, &out, &left), FRAME_TOO_LONG);
    assert_int_equal(out.length, 0);
    value_unref(left);
    left = value_set_take(value_object(), "a", value_ref(value_at(value_get(message, "a"), 0)));
    assert_int_equal(shared_frame_write_take(memory, &out, &left), FRAME_FITS);
    assert_true(out.length < 1000);
    assert_non_null(value_get(left, "shared"));
    value_unref(left);
    value_unref(message);
    buffer_finish(&out);
    shared_free(memory);
}

static bool is_adopted(int descriptor) {
    struct shared_memory *memory = shared_adopt_take(descriptor);
    shared_free(memory);
    assert_int_equal(fcntl(descriptor, F_GETFD), -1); /* it was taken in either case */
    return memory != NULL;
}

static int sealed(size_t size, int seals) {
    int descriptor = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(descriptor, (off_t)size), 0);
    assert_int_equal(fcntl(descriptor, F_ADD_SEALS, seals), 0);
    return descriptor;
}

static void adopts_only_sealed_memory(void **state) {
    (void)state;
    int ends[2];
    assert_true(is_adopted(sealed(SHARED_SIZE, SEALS)));
    assert_false(is_adopted(sealed(SHARED_SIZE - 1, SEALS)));
    assert_false(is_adopted(sealed(SHARED_SIZE + 1, SEALS)));
    assert_false(is_adopted(sealed(SHARED_SIZE, F_SEAL_SHRINK | F_SEAL_SEAL)));
    assert_false(is_adopted(sealed(SHARED_SIZE, F_SEAL_GROW | F_SEAL_SHRINK)));
    assert_int_equal(pipe(ends), 0);
    assert_false(is_adopted(ends[0]));
    assert_false(is_adopted(ends[1]));
    assert_false(is_adopted(open("/dev/zero", O_RDWR)));
    assert_null(shared_adopt_take(-1));
    struct shared_memory *memory = shared_new();
    assert_int_equal(fcntl(shared_descriptor(memory), F_GET_SEALS) & SEALS, SEALS);
    assert_int_equal(ftruncate(shared_descriptor(memory), 0), -1);
    shared_free(memory);
    /* No memory is left, or it may not be written: the texts stay in the messages. */
    memory = shared_adopt_take(sealed(SHARED_SIZE, SEALS | F_SEAL_WRITE));
    struct shared_mark mark;
    tn_value text = text_of('x', SHARED_VALUE_MIN), whole = message_of(text, text);
    assert_ptr_equal(shared_pack_take(memory, whole, &mark), whole);
    value_unref(whole);
    value_unref(text);
    shared_free(memory);
    struct rlimit limit, low;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    low = limit;
    low.rlim_cur = SHARED_SIZE - 1;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    assert_null(shared_new()); /* without a signal */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* ---- A writer that lies ---- */

static bool is_refused(const struct shared_memory *memory, const char *message) {
    struct error error = ERROR_INIT;
    tn_value value = json(message), before = value_ref(value);
    uint64_t position;
    size_t bytes;
    int32_t status = shared_unpack(memory, &value, &position, &bytes, &error);
    if (status != TN_OK) assert_ptr_equal(value, before);
    if (status != TN_OK) assert_string_equal(error.code, "PROTOCOL");
    error_finish(&error);
    value_unref(before);
    value_unref(value);
    return status == TN_INVALID;
}

static void refuses_lies(void **state) {
    (void)state;
    struct shared_memory *memory = shared_new();
    static const char utf8[] = "\xff\xfe";
    assert_int_equal(pwrite(shared_descriptor(memory), utf8, 2, 100), 2);
#define LIE(members, entry)                                                                                            \
    is_refused(memory, "{\"params\":{\"a\":null,\"b\":[null,null],\"c\":\"text\"},\"shared\":{" members                \
                       "\"values\":[" entry "]}}")
#define ENTRY(at, rest) "{\"at\":" at "," rest "}"
    /* What is allowed, so that the rest fails because of its mistake only. */
    assert_false(LIE("\"position\":4,", ENTRY("[0,0]", "\"from\":0,\"length\":4")));
    assert_false(LIE("\"position\":4,", ENTRY("[0,0]", "\"from\":100,\"length\":2,\"bytes\":true")));
    assert_false(LIE("\"position\":4,", ENTRY("[0,0]", "\"from\":67108864,\"length\":0")));
    assert_false(LIE("\"position\":4,",
                     ENTRY("[0,0]", "\"from\":0,\"length\":4") "," ENTRY(
                         "[0,1,0]", "\"from\":0,\"length\":4") "," ENTRY("[0,1,1]", "\"from\":0,\"length\":4")));
    assert_true(LIE("", ENTRY("[0,0]", "\"from\":0,\"length\":4")));
    assert_true(LIE("\"position\":-1,", ENTRY("[0,0]", "\"from\":0,\"length\":4")));
    assert_true(LIE("\"position\":1e300,", ENTRY("[0,0]", "\"from\":0,\"length\":4")));
    assert_true(LIE("\"position\":4,", ""));
    assert_true(LIE("\"position\":4,", "7"));
    static const char *const numbers[] = {
        "\"from\":0",
        "\"length\":4",
        "\"from\":-1,\"length\":4",
        "\"from\":0,\"length\":-4",
        "\"from\":0,\"length\":67108865",
        "\"from\":67108864,\"length\":1",
        "\"from\":67108861,\"length\":4",
        "\"from\":9223372036854775807,\"length\":4",
        "\"from\":1,\"length\":9223372036854775807",
        "\"from\":\"0\",\"length\":4",
        "\"from\":0,\"length\":4.0",
        "\"from\":100,\"length\":2", /* not UTF-8 */
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        tn_value text =
            value_format("{\"a\":null,\"shared\":{\"position\":4,\"values\":[{\"at\":[0],%s}]}}", numbers[i]);
        if (!is_refused(memory, value_chars(text, NULL))) fail_msg("%s", numbers[i]);
        value_unref(text);
    }
    static const char *const ways[] = {
        "[]",      "[0]",       "[9]",   "[-1]", "[0,3]",        "[0,2]", "[0,0,0]", "[0,1]",
        "[0,1,2]", "[0,1,0,0]", "[1,0]", "{}",   "[\"params\"]", "null",  "[0.0,0]", "[9223372036854775807]",
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        tn_value text = value_format("{\"params\":{\"a\":null,\"b\":[null,null],\"c\":\"text\"},\"shared\":{"
                                     "\"position\":4,\"values\":[{\"at\":%s,\"from\":0,\"length\":4}]}}",
                                     ways[i]);
        if (!is_refused(memory, value_chars(text, NULL))) fail_msg("%s", ways[i]);
        value_unref(text);
    }
    /* The order, twice the same, and one within another. */
    assert_true(LIE("\"position\":4,",
                    ENTRY("[0,1,1]", "\"from\":0,\"length\":4") "," ENTRY("[0,1,0]", "\"from\":0,\"length\":4")));
    assert_true(LIE("\"position\":4,",
                    ENTRY("[0,0]", "\"from\":0,\"length\":4") "," ENTRY("[0,0]", "\"from\":0,\"length\":4")));
    assert_true(LIE("\"position\":4,",
                    ENTRY("[0,0]", "\"from\":0,\"length\":4") "," ENTRY("[0,0,1]", "\"from\":0,\"length\":4")));
    /* Together more than a message may have. */
    assert_true(LIE("\"position\":4,", ENTRY("[0,0]", "\"from\":0,\"length\":67108864,\"bytes\":true") "," ENTRY(
                                           "[0,1,0]", "\"from\":0,\"length\":1")));
    assert_true(is_refused(memory, "{\"a\":null,\"shared\":7}"));
    assert_true(is_refused(memory, "{\"a\":null,\"shared\":{}}"));
    assert_true(
        is_refused(NULL, "{\"a\":null,\"shared\":{\"position\":4,\"values\":[{\"at\":[0],\"from\":0,\"length\":1}]}}"));
    shared_free(memory);
}

/* Deep values of a text at each level: nothing is searched, or restored, beyond the depth of a message. */
static void bounds_the_depth(void **state) {
    (void)state;
    struct shared_memory *memory = shared_new();
    struct shared_mark mark;
    tn_value text = text_of('x', SHARED_VALUE_MIN), deep = value_ref(text);
    for (size_t i = 0; i < 4 * FRAME_DEPTH_MAX; i++) deep = value_set_take(value_object_reserve(1), "d", deep);
    assert_false(shared_is_worthwhile(deep));
    assert_ptr_equal(shared_pack_take(memory, deep, &mark), deep);
    value_unref(deep);
    value_unref(text);
    shared_free(memory);
}

/* ---- Children ---- */

static const char python[] =
    "import array, json, os, socket, sys\n"
    "s = socket.socket(fileno=3)\n"
    "fds = []\n"
    "data = b''\n"
    "def send(message):\n"
    "    text = json.dumps(message).encode()\n"
    "    s.sendall(b'Content-Length: %d\\r\\n\\r\\n' % len(text) + text)\n"
    "def receive():\n"
    "    global data\n"
    "    while True:\n"
    "        head = data.find(b'\\r\\n\\r\\n')\n"
    "        if head >= 0:\n"
    "            length = int(data[:head].split(b':')[1])\n"
    "            if len(data) >= head + 4 + length:\n"
    "                text = data[head + 4:head + 4 + length]\n"
    "                data = data[head + 4 + length:]\n"
    "                return json.loads(text)\n"
    "        more, got, flags, address = socket.recv_fds(s, 65536, 4)\n"
    "        fds.extend(got)\n"
    "        if not more: sys.exit(0)\n"
    "        data += more\n"
    "def memory():\n"
    "    send({'method': 'shared_memory', 'params': {}})\n"
    "    answer = receive()\n"
    "    assert answer['method'] == 'shared_memory' and answer['params'] == {'writer': 'plugin', 'size': 1 << 26}, "
    "answer\n"
    "    return fds.pop()\n"
    "def share(position, values):\n"
    "    send({'method': 'note', 'params': {'a': None}, 'shared': {'position': position, 'values': values}})\n";

struct child {
    struct loop *loop;
    struct process *process;
    bool ended;
    tn_value last; /* the last message */
    uint32_t messages;
    char end[256];
};

static void on_child_message(void *user, tn_value message) {
    struct child *child = user;
    value_unref(child->last);
    child->last = value_ref(message);
    child->messages++;
}

static void on_child_ended(void *user, const struct error *why) {
    struct child *child = user;
    child->ended = true;
    snprintf(child->end, sizeof child->end, "%s", why->message);
}

static bool child_is_done(void *user) {
    const struct child *child = user;
    return child->ended || value_text_is(value_get(child->last, "method"), "done");
}

static void ignore_log(void *user, int32_t level, const char *who, const char *line) {
    (void)user, (void)level, (void)who, (void)line;
}

static void child_start(struct child *child, const char *script, bool allow) {
    static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    struct error error = ERROR_INIT;
    tn_value text = value_format("%s%s", python, script);
    const char *const arguments[] = {"/usr/bin/env", "python3", "-IS", "-c", value_chars(text, NULL), NULL};
    *child = (struct child){.loop = loop_new(&error)};
    log_set_sink(NULL, ignore_log, NULL);
    child->process = process_start(child->loop,
                                   &(struct process_options){.arguments = arguments,
                                                             .environment = environment,
                                                             .name = "test.child",
                                                             .message = on_child_message,
                                                             .ended = on_child_ended,
                                                             .user = child},
                                   &error);
    if (!child->process) fail_msg("%s", error.message);
    process_hold(child->process);
    if (allow) process_allow_shared(child->process);
    value_unref(text);
}

static void child_finish(struct child *child) {
    process_free(child->process);
    loop_free(child->loop);
    value_unref(child->last);
    log_set_sink(NULL, NULL, NULL);
}

static size_t open_descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;
    assert_non_null(folder);
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

static void child_writes(void **state) {
    (void)state;
    struct child child;
    child_start(&child,
                "fd = memory()\n"
                "os.pwrite(fd, b'shared text', 5)\n"
                "share(16, [{'at': [1, 0], 'from': 5, 'length': 11}])\n"
                "answer = receive()\n"
                "send({'method': 'done', 'params': {'text': answer}})\n"
                "receive()\n",
                true);
    loop_run(child.loop, child_is_done, &child);
    assert_false(child.ended);
    assert_int_equal(child.messages, 2); /* `note` and `done` */
    tn_value expected =
        json("{\"text\":{\"jsonrpc\":\"2.0\",\"method\":\"shared_taken\",\"params\":{\"position\":16}}}");
    assert_true(value_equal(value_get(child.last, "params"), expected));
    value_unref(expected);
    child_finish(&child);
}

/* The first message has its text; after the child has the memory, the text is there. */
static void host_writes(void **state) {
    (void)state;
    struct child child;
    child_start(&child,
                "def is_text(text): return text == 'x' * 16384\n"
                "offer, first = receive(), receive()\n"
                "fd = fds.pop()\n"
                "good = offer['params'] == {'writer': 'host', 'size': 1 << 26} and is_text(first['params']['a'])\n"
                "send({'method': 'shared_taken', 'params': {'position': 0}})\n"
                "send({'method': 'done'})\n"
                "second = receive()\n"
                "value, = second['shared']['values']\n"
                "good = good and second['params']['a'] is None and value['at'] == [2, 0]\n"
                "good = good and is_text(os.pread(fd, value['length'], value['from']).decode())\n"
                "send({'method': 'shared_taken', 'params': {'position': second['shared']['position']}})\n"
                "send({'method': 'done', 'params': {'good': good}})\n"
                "receive()\n",
                true);
    tn_value params = value_set_take(value_object(), "a", text_of('x', SHARED_VALUE_MIN));
    process_notify_take(child.process, "note", value_ref(params));
    loop_run(child.loop, child_is_done, &child);
    assert_false(child.ended);
    value_unref(child.last);
    child.last = NULL;
    process_notify_take(child.process, "note", params);
    loop_run(child.loop, child_is_done, &child);
    if (child.ended) fail_msg("%s", child.end);
    assert_true(value_get(value_get(child.last, "params"), "good") == value_bool(true));
    child_finish(&child);
}

/* A program that knows nothing of shared memory may use these names. */
static void names_mean_nothing_unless_allowed(void **state) {
    (void)state;
    struct child child;
    child_start(&child,
                "send({'method': 'shared_memory', 'params': {}})\n"
                "send({'method': 'shared_taken', 'params': {'position': 7}})\n"
                "share(9, [])\n"
                "send({'method': 'done', 'shared': 7})\n"
                "first = receive()\n"
                "send({'method': 'done', 'params': {'good': 'shared' not in first}})\n"
                "receive()\n",
                false);
    loop_run(child.loop, child_is_done, &child);
    if (child.ended) fail_msg("%s", child.end);
    assert_int_equal(child.messages, 4);
    value_unref(child.last);
    child.last = NULL;
    process_notify_take(child.process, "note", value_set_take(value_object(), "a", text_of('x', SHARED_VALUE_MIN)));
    loop_run(child.loop, child_is_done, &child);
    assert_true(value_get(value_get(child.last, "params"), "good") == value_bool(true));
    child_finish(&child);
}

static void child_that_lies_is_killed(void **state) {
    (void)state;
    static const char *const lies[] = {
        "fd = memory()\nshare(1, [{'at': [1, 0], 'from': 1 << 26, 'length': 1}])\nreceive()\n",
        "fd = memory()\nos.pwrite(fd, b'\\xff', 0)\nshare(1, [{'at': [1, 0], 'from': 0, 'length': 1}])\nreceive()\n",
        "fd = memory()\nshare(1, [{'at': [1, 7], 'from': 0, 'length': 1}])\nreceive()\n",
        "send({'method': 'shared_taken', 'params': {'position': 0}})\nreceive()\n", /* nothing was offered */
        "receive()\nsend({'method': 'shared_taken', 'params': {'position': 1}})\nreceive()\n",
        "receive()\nsend({'method': 'shared_taken', 'params': {'position': -1}})\nreceive()\n",
        "receive()\nsend({'method': 'shared_taken', 'params': []})\nreceive()\n",
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct child child;
        child_start(&child, lies[i], true);
        if (strncmp(lies[i], "receive", 7) == 0)
            process_notify_take(child.process, "note",
                                value_set_take(value_object(), "a", text_of('x', SHARED_VALUE_MIN)));
        loop_run(child.loop, child_is_done, &child);
        if (!child.ended || !strstr(child.end, "it sent an invalid message")) fail_msg("%zu: %s", i, child.end);
        child_finish(&child);
    }
}

/* The host takes no descriptor from a child, makes one memory only, and none of it is left behind. */
static void descriptors_are_bounded(void **state) {
    (void)state;
    size_t before = open_descriptors(), during;
    struct child child;
    child_start(&child,
                "for i in range(1000): socket.send_fds(s, [b'Content-Length: 19\\r\\n\\r\\n{\"method\": \"again\"}'], "
                "[0, 1, 2])\n"
                "fd = memory()\n"
                "for i in range(1000): send({'method': 'shared_memory', 'params': {}})\n"
                "send({'method': 'done'})\n"
                "receive()\n",
                true);
    loop_run(child.loop, child_is_done, &child);
    if (child.ended) fail_msg("%s", child.end);
    assert_int_equal(child.messages, 1001);
    during = open_descriptors();
    assert_true(during <= before + 16);
    child_finish(&child);
    assert_int_equal(open_descriptors(), before);
}

/* It is killed while a text is on the way in both directions. */
static void child_that_ends(void **state) {
    (void)state;
    struct child child;
    child_start(&child,
                "send({'method': 'shared_memory', 'params': {}})\n"
                "while receive()['params'].get('writer') != 'plugin': pass\n"
                "os.pwrite(fds[-1], b'last words', 0)\n"
                "share(10, [{'at': [1, 0], 'from': 0, 'length': 10}])\n"
                "os.kill(os.getpid(), 9)\n",
                true);
    for (int i = 0; i < 100; i++)
        process_notify_take(child.process, "note", value_set_take(value_object(), "a", text_of('x', SHARED_VALUE_MIN)));
    loop_run(child.loop, child_is_done, &child);
    assert_true(child.ended);
    assert_int_equal(child.messages, 1);
    assert_true(value_text_is(value_get(value_get(child.last, "params"), "a"), "last words"));
    child_finish(&child);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs_and_unpacks),
        cmocka_unit_test(leaves_small_texts_in_the_message),
        cmocka_unit_test(continues_without_space),
        cmocka_unit_test(message_that_is_too_long),
        cmocka_unit_test(adopts_only_sealed_memory),
        cmocka_unit_test(refuses_lies),
        cmocka_unit_test(bounds_the_depth),
        cmocka_unit_test(child_writes),
        cmocka_unit_test(host_writes),
        cmocka_unit_test(names_mean_nothing_unless_allowed),
        cmocka_unit_test(child_that_lies_is_killed),
        cmocka_unit_test(descriptors_are_bounded),
        cmocka_unit_test(child_that_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
